package agent_test

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

func TestMain(m *testing.M) {
	protocol.SilenceDriver()
	os.Exit(m.Run())
}
