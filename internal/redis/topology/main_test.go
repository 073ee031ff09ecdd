package topology_test

import (
	"flag"
	"os"
	"testing"
)

// A failed random test prints its seed, which repeats it; files beside the code would only be in the way.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
