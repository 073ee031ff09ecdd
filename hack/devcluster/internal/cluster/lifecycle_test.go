package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/build"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/image"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// TestMain lets the test binary play the part of devcluster's: a cluster runs
// copies of the binary that brought it up.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case CommandInit, CommandServe:
			if err := play(os.Args[1], os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func play(command string, args []string) error {
	if err := process.WaitAdmitted(os.Stdin); err != nil {
		return err
	}
	if command == CommandInit {
		machine, err := process.ReadMachine(args[0])
		if err != nil {
			return err
		}
		return process.Init(context.Background(), machine)
	}
	dirs := state.Dirs{State: args[1], Cache: args[3]}
	c, err := New(dirs, progress.New(io.Discard, time.Now))
	if err != nil {
		return err
	}
	return c.Serve(context.Background())
}

// forTest is a cluster of this test's own, on a machine where there is none.
func forTest(t *testing.T) *Cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: bringing a cluster up needs root")
	}
	if owner := network.Owner(); owner != "" {
		t.Skipf("SKIPPED: a cluster of %s is up, and the machine has room for one", owner)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("SKIPPED: no cache of built parts: %v", err)
	}
	dirs, err := state.New(t.TempDir(), filepath.Join(user, "holdfast-devcluster"))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	c, err := New(dirs, progress.New(testWriter{t}, time.Now))
	if err != nil {
		t.Fatal(err)
	}
	builder := &build.Builder{Dirs: dirs, Progress: c.Progress}
	if missing := builder.Missing(build.Parts()); len(missing) > 0 {
		t.Skipf("SKIPPED: building %s takes minutes: call devcluster up once", strings.Join(missing, ", "))
	}
	for _, recipe := range image.Recipes() {
		if !c.upToDate(recipe) {
			t.Skipf("SKIPPED: the image %s is not made: call devcluster images once", recipe.Repository)
		}
	}
	return c
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

func TestAClusterFromUpToDown(t *testing.T) {
	c := forTest(t)
	t.Cleanup(func() {
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	t.Run("a second up changes nothing", func(t *testing.T) {
		before := initOf(t, c, "n1")
		if err := c.Up(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if after := initOf(t, c, "n1"); after != before {
			t.Errorf("the node was started again: %v, then %v", before, after)
		}
	})
	t.Run("the host reaches Services", func(t *testing.T) { reaches(t, network.APIServerService.String()+":443") })
	t.Run("a cut node is silent until it is healed", func(t *testing.T) { cutAndHeal(t, c) })
	t.Run("a frozen node stands still", func(t *testing.T) { freezeAndThaw(t, c) })
	t.Run("a node that lost power is silent and comes back", func(t *testing.T) { stopAndStart(t, c) })
	t.Run("what a crash leaves is cleaned up", func(t *testing.T) { downAfterCrash(t, c) })
}

func initOf(t *testing.T, c *Cluster, name string) process.Identity {
	t.Helper()
	id, alive := c.nodeInit(name)
	if !alive {
		t.Fatalf("node %s does not run", name)
	}
	return id
}

// kubelet is an address that only a living, reachable node answers on.
func kubelet(i int) string { return net.JoinHostPort(network.NodeAddr(i).String(), "10250") }

const dialPatience = 500 * time.Millisecond

func dial(address string) error {
	conn, err := net.DialTimeout("tcp", address, dialPatience)
	if err != nil {
		return err
	}
	return conn.Close()
}

// reaches allows what is to be reached a moment to come up.
func reaches(t *testing.T, address string) {
	t.Helper()
	if err := poll(t.Context(), 30*time.Second, func() error { return dial(address) }); err != nil {
		t.Error(err)
	}
}

// isSilent allows nothing: what is cut off is cut off at once.
func isSilent(t *testing.T, address string) {
	t.Helper()
	if dial(address) == nil {
		t.Errorf("%s answers", address)
	}
}

func cutAndHeal(t *testing.T, c *Cluster) {
	if _, err := c.Cut(t.Context(), network.BothWays, "n2", []string{"host"}); err != nil {
		t.Fatal(err)
	}
	isSilent(t, kubelet(2))
	reaches(t, kubelet(1))
	if _, err := c.Heal("host", []string{"n2"}); err != nil {
		t.Fatal(err)
	}
	reaches(t, kubelet(2))
	if _, err := c.Heal("n1", []string{"n2"}); err == nil {
		t.Error("what was not cut was healed")
	}
	if _, err := c.Cut(t.Context(), network.OneWay, "n1", []string{"all"}); err != nil {
		t.Fatal(err)
	}
	isSilent(t, kubelet(1))
	if _, err := c.HealAll(); err != nil {
		t.Fatal(err)
	}
	reaches(t, kubelet(1))
	if cuts, err := c.Cuts(); err != nil || len(cuts) != 0 {
		t.Errorf("still cut: %v, %v", cuts, err)
	}
}

func freezeAndThaw(t *testing.T, c *Cluster) {
	if _, err := c.FreezeNode("n2"); err != nil {
		t.Fatal(err)
	}
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := status[len(status)-1]; last.Name != "n2" || last.State != StateFrozen {
		t.Errorf("the status is %+v", last)
	}
	if _, err := c.ThawNode("n2"); err != nil {
		t.Fatal(err)
	}
	if frozen, err := c.groups.Frozen(network.NodeNamespace(2)); err != nil || frozen {
		t.Errorf("still frozen: %t, %v", frozen, err)
	}
}

func stopAndStart(t *testing.T, c *Cluster) {
	mark := filepath.Join(c.Dirs.Node("n2"), "lib", "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := initOf(t, c, "n2")
	if _, err := c.StopNode("n2"); err != nil {
		t.Fatal(err)
	}
	if before.Alive() {
		t.Error("the node's first process survived the power cut")
	}
	isSilent(t, kubelet(2))
	if _, err := c.FreezeNode("n2"); err == nil {
		t.Error("a node without power was frozen")
	}
	if _, err := c.StartNode("n2"); err != nil {
		t.Fatal(err)
	}
	reaches(t, kubelet(2))
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the disk did not survive: %v", err)
	}
	client, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "n2", meta.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// downAfterCrash takes the records away that a crash could have lost.
func downAfterCrash(t *testing.T, c *Cluster) {
	for _, record := range []string{
		process.IdentityFile(c.Dirs.Node("n1")), process.IdentityFile(c.Dirs.ControlPlane()), c.Dirs.Kubeconfig(),
	} {
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.FreezeNode("n2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.DialTimeout("tcp", registry.Address(), time.Second); err == nil && network.Owner() != "" {
		conn.Close()
		t.Error("the registry still answers")
	}
	if owner := network.Owner(); owner != "" {
		t.Errorf("the network of %s is still there", owner)
	}
}
