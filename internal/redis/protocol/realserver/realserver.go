// Package realserver finds and starts real servers for tests. It must never be imported by
// anything but tests.
//
// The environment variables in Variables name a server program each, or else the PATH is searched.
// A test for which there is no server is skipped and says what would make it run.
//
// Start with Each.
package realserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
)

// Program is a server that can be started.
type Program struct {
	// Engine is "redis" or "valkey".
	Engine, Path string
}

// Variables are the environment variables that name a server program, by engine.
func Variables() map[string]string {
	return map[string]string{"redis": "HOLDFAST_REDIS_SERVER", "valkey": "HOLDFAST_VALKEY_SERVER"}
}

// Each runs a test with every engine.
func Each(t *testing.T, test func(t *testing.T, p Program)) {
	t.Helper()
	for engine, variable := range Variables() {
		t.Run(engine, func(t *testing.T) {
			test(t, Find(t, engine, variable))
		})
	}
}

// Any returns some engine's server; Redis if there is one.
func Any(t *testing.T) Program {
	t.Helper()
	for _, engine := range []string{"redis", "valkey"} {
		if path := lookUp(engine, Variables()[engine]); path != "" {
			return Program{Engine: engine, Path: path}
		}
	}
	t.Skipf("SKIPPED: no database server; set %s or %s", Variables()["redis"], Variables()["valkey"])
	return Program{}
}

// Find returns an engine's server or skips the test.
func Find(t *testing.T, engine, variable string) Program {
	t.Helper()
	path := lookUp(engine, variable)
	if path == "" {
		t.Skipf("SKIPPED: no %s-server on the PATH; set %s to the program", engine, variable)
	}
	return Program{Engine: engine, Path: path}
}

func lookUp(engine, variable string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path, err := exec.LookPath(engine + "-server")
	if err != nil {
		return ""
	}
	return path
}

// FreePort returns a port on the loopback that nothing listens on at the moment.
func FreePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if port <= 0 || port > 65535 {
		t.Fatal(fmt.Errorf("odd port %d", port))
	}
	return int32(port)
}
