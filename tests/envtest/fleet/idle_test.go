package fleet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

const (
	root     = "../../.."
	clusters = 3
	// idleFor covers several periods of the watches below, since a write would come with a pass.
	idleFor = 20 * time.Second
	watches = `
- group: db.holdfast.dev
  version: v1
  kind: RedisCluster
  maxConcurrentReconciles: 2
  reconcilePeriod: 5s
`
)

func TestIdleClustersCostNoWrites(t *testing.T) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set, so there is no API server to count at: run make envtest")
	}
	result, err := idle.Run(t.Context(), idle.Options{
		Clusters: []int{clusters}, For: idleFor, Rest: 5 * time.Second,
		Root: root, Manager: manager(t), Watches: file(t), Assets: assets, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := result.Points[0]
	if p.Requests.Writes > 0 {
		t.Errorf("%d writes to the API server: %v", p.Requests.Writes, p.Requests.Which)
	}
	if p.Requests.Events > 0 || p.Requests.Reads > 0 {
		t.Errorf("%d events and %d reads past the cache", p.Requests.Events, p.Requests.Reads)
	}
	if p.Requests.Leases == 0 {
		t.Error("not even the lease was written: nothing was counted")
	}
	// The period is 5 s, so that four passes of each cluster lie within the time, give or take one.
	if p.Passes < 3*clusters || p.Passes > 5*clusters {
		t.Errorf("%d passes of %d clusters, want one every 5 s for each", p.Passes, clusters)
	}
	if want := 2.0 * 3 * clusters; p.HeartbeatsPerSecond < 0.8*want {
		t.Errorf("%.1f heartbeats a second were answered, of %.1f", p.HeartbeatsPerSecond, want)
	}
}

// manager is built from this tree: a test of an older binary would prove nothing.
func manager(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/manager")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the manager: %v\n%s", err, out)
	}
	return binary
}

func file(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "watches.yaml")
	if err := os.WriteFile(name, []byte(watches), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
