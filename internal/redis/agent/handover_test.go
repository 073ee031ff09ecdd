package agent_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// pair is a primary with one replica in step, epoch 1.
func (w *world) pair() (primary, replica *member) {
	w.t.Helper()
	primary, replica = w.start("shop-0"), w.start("shop-1")
	primary.assign(wire.RolePrimary, 1, withPeers(replica))
	replica.assign(wire.RoleReplica, 1, following(primary), withPeers(primary))
	replica.awaitLink()
	return primary, replica
}

func (m *member) awaitLink() {
	m.w.t.Helper()
	m.await("the link", 20*time.Second, func(r wire.Record) bool { return factsOf(r).LinkUp })
}

func (m *member) handOver(to *member, epoch int64) (wire.Record, error) {
	return m.order(http.MethodPost, wire.PathHandOver, wire.HandOver{
		Cluster: clusterUID, Epoch: epoch, To: to.endpoint(), Timeout: 2 * time.Second,
	})
}

func TestAPrimaryHandsOverThereAndBack(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		one, two := w.pair()
		from, to := one, two
		for round := range int64(2) {
			epoch := 10 * (round + 1)
			old := from.client()
			if _, err := old.do("SET", "round", strconv.FormatInt(round, 10)); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r, err := from.handOver(to, epoch)
			if err != nil {
				t.Fatalf("hand over: %v", err)
			}
			t.Logf("handed over after %s", time.Since(start))
			if f := factsOf(r); f.IsPrimary || r.Epoch != epoch || r.AssignmentDigest != "" {
				t.Errorf("after the hand-over: %+v %+v", r, f)
			}
			to.await("the role", 5*time.Second, func(r wire.Record) bool { return factsOf(r).IsPrimary })
			to.assign(wire.RolePrimary, epoch, withPeers(from))
			from.assign(wire.RoleReplica, epoch, following(to), withPeers(to))
			from.awaitLink()
			if _, err := from.handOver(to, epoch+1); refusedWith(err) != wire.CodeInvalid {
				t.Errorf("a replica was told to hand over: %v", err)
			}
			if got, err := to.client().do("GET", "round"); err != nil || got != strconv.FormatInt(round, 10) {
				t.Errorf("round is %v, %v", got, err)
			}
			from, to = to, from
		}
		if f := factsOf(two.latest().Record); f.SyncFull != 0 {
			t.Errorf("the old primary needed a full synchronisation: %+v", f)
		}
	})
}

func TestAHandOverThatCannotEndLeavesThePrimary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one, two := w.pair()
	frozen := two.freezeServer()
	defer frozen.thaw()
	if _, err := one.client().do("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	_, err := one.handOver(two, 5)
	if refusedWith(err) != wire.CodeEngine {
		t.Errorf("the hand-over ended with %v", err)
	}
	if _, err := one.client().do("SET", "a", "2"); err != nil {
		t.Errorf("a write after the hand-over that failed: %v", err)
	}
	frozen.thaw()
	if r := one.latest(); !factsOf(r.Record).IsPrimary || r.Epoch != 5 {
		t.Errorf("the primary says %+v", r.Record)
	}
	if _, err := one.handOver(two, 1); refusedWith(err) != wire.CodeStaleEpoch {
		t.Errorf("a hand-over under the primary's own epoch: %v", err)
	}
}

func TestAStoppingPrimaryWaitsForRelief(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	w.relief = 10 * time.Second
	one, two := w.pair()
	one.stop()
	one.await("the notice", time.Second, func(r wire.Record) bool { return r.Stopping && !r.Final })
	if _, err := one.client().do("SET", "a", "1"); err != nil {
		t.Errorf("a stopping primary must serve until it is relieved: %v", err)
	}
	if ready(t, one) {
		t.Error("a stopping member is ready")
	}
	if _, err := one.handOver(two, 2); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	final := one.await("the end", 5*time.Second, func(r wire.Record) bool { return r.Final })
	t.Logf("ended %s after the relief", time.Since(start))
	if final.Server.Phase != wire.ServerDown || final.Server.LastExit != "exit status 0" {
		t.Errorf("final: %+v", final.Server)
	}
	one.end()
	two.await("the role", 2*time.Second, func(r wire.Record) bool { return factsOf(r).IsPrimary })
}

func TestAStoppingPrimaryDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	w.relief = 300 * time.Millisecond
	one, _ := w.pair()
	start := time.Now()
	one.stop()
	one.await("the end", 15*time.Second, func(r wire.Record) bool { return r.Final })
	if took := time.Since(start); took < w.relief {
		t.Errorf("it ended after %s, before its relief was over", took)
	}
}

func TestAReplicaStopsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one := w.start("shop-0")
	w.relief = time.Minute
	two := w.start("shop-1")
	one.assign(wire.RolePrimary, 1, withPeers(two))
	two.assign(wire.RoleReplica, 1, following(one), withPeers(one))
	two.stop()
	two.await("the end", 15*time.Second, func(r wire.Record) bool { return r.Final })
}

// ready asks the member's probe.
func ready(t *testing.T, m *member) bool {
	t.Helper()
	return strings.HasPrefix(get(t, m, "/readyz"), "200")
}

// get returns the status and the body.
func get(t *testing.T, m *member, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.probes+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, response.Body); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(response.StatusCode) + " " + body.String()
}
