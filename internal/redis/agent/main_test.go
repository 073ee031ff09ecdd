package agent_test

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

func TestMain(m *testing.M) {
	protocol.SilenceDriver()
	code := m.Run()
	if dir, err := buildDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
