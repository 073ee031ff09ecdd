package protocol_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/contract"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
)

func TestMain(m *testing.M) {
	protocol.SilenceDriver()
	os.Exit(m.Run())
}

func TestRealServersKeepTheContract(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		contract.Run(t, func(*testing.T) func(*testing.T) contract.Instance {
			return func(t *testing.T) contract.Instance { return start(t, p) }
		})
	})
}

// start runs a server as the agent does, as far as the contract is concerned.
func start(t *testing.T, p realserver.Program) contract.Instance {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf") // short, since the path of a Unix socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port, socket := realserver.FreePort(t), filepath.Join(dir, "s")
	config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nunixsocket %s\nsave \"\"\nrepl-diskless-sync-delay 0\n"+
		"repl-ping-replica-period 1\nuser default on nopass ~* &* +@all\nuser admin on nopass ~* &* +@all\n", port, dir, socket)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(p.Path, filepath.Join(dir, "conf"))
	command.Stdout = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	server := protocol.Dial(protocol.Options{Network: "unix", Address: socket, User: "admin", Password: "any", Timeout: 2 * time.Second})
	t.Cleanup(func() { server.Close() })
	// The connection waits until the server listens.
	if _, err := server.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	address := protocol.Address{Host: "127.0.0.1", Port: port}
	return contract.Instance{Server: server, Address: address, Login: func(user, password string) (contract.Client, error) {
		return login(t, address, user, password)
	}}
}

// client is one connection of an application, never made anew.
type client struct {
	t    *testing.T
	conn *redis.Conn
}

func login(t *testing.T, a protocol.Address, user, password string) (contract.Client, error) {
	rdb := redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))), Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
	})
	t.Cleanup(func() { rdb.Close() })
	c := &client{t: t, conn: rdb.Conn()}
	if user == "" && password == "" {
		return c, c.conn.Ping(t.Context()).Err()
	}
	if user == "" {
		user = "default"
	}
	return c, c.conn.AuthACL(t.Context(), user, password).Err()
}

func (c *client) Write(key, value string) error {
	return c.conn.Set(c.t.Context(), key, value, 0).Err()
}

func (c *client) Read(key string) (string, error) { return c.conn.Get(c.t.Context(), key).Result() }
