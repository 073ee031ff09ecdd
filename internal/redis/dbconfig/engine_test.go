package dbconfig_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
)

// The table says what a running server takes over. Whether that is so, only the servers can say:
// every parameter that one has is set to the value that it has, which it refuses only where it takes none.
func TestTheTableSaysWhatTheServersDo(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		c := serve(t, p)
		parameters, err := c.ConfigGet(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(parameters) < 100 {
			t.Fatalf("the server has only %d parameters", len(parameters))
		}
		restart := 0
		for name, value := range parameters {
			class := dbconfig.Classify(name)
			// A name with an underscore is one that the API takes no value for.
			if class == dbconfig.Owned || strings.Contains(name, "_") {
				continue
			}
			immutable := isImmutable(c.ConfigSet(t.Context(), name, value).Err())
			switch {
			case immutable && class == dbconfig.Hot:
				t.Errorf("%s is read only at the start, the table says that it can be changed live", name)
			case !immutable && class == dbconfig.Restart && !slices.Contains(takenLiveBySome, name):
				t.Errorf("%s can be changed live, the table says that it needs a restart", name)
			case immutable:
				restart++
			}
		}
		if restart == 0 {
			t.Error("no parameter was refused: the check sees nothing")
		}
	})
}

// takenLiveBySome are parameters that some version of an engine takes live and others do not.
var takenLiveBySome = []string{"io-threads"}

func isImmutable(err error) bool {
	return err != nil && strings.Contains(err.Error(), "immutable config")
}

// serve starts a server that keeps nothing, and returns a client of it.
func serve(t *testing.T, p realserver.Program) *redis.Client {
	t.Helper()
	port := realserver.FreePort(t)
	server := exec.CommandContext(t.Context(), p.Path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatalf("start %s: %v", p.Path, err)
	}
	c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), MaxRetries: -1})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		// Killed by the end of the test's context.
		_ = server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); c.Ping(t.Context()).Err() != nil; {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer on port %d", p.Path, port)
		}
		time.Sleep(10 * time.Millisecond) // until the server listens
	}
	return c
}
