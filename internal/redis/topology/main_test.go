package topology_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// defaultChecks keeps a plain run short; -rapid.checks=1000 is for a change of the decision.
const defaultChecks = "40"

// A failed random test prints its seed, which repeats it; files beside the code would only be in the way.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": defaultChecks, "rapid.nofailfile": "true"} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
