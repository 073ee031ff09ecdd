package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestAnAssignmentIsAnsweredWithTheRecordAfterIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.pass(5 * time.Second)
		known := w.contact().Record.SentMono

		assignment := wire.Assignment{Cluster: clusterUID, Epoch: 3, Role: wire.RolePrimary}
		digest, err := assignment.Digest()
		if err != nil {
			t.Fatal(err)
		}
		record, err := w.fleet.Assign(t.Context(), m, assignment)
		if err != nil {
			t.Fatal(err)
		}
		if record.Epoch != 3 || record.AssignmentDigest != digest {
			t.Errorf("epoch %d, digest %q, want 3 and %q", record.Epoch, record.AssignmentDigest, digest)
		}
		if c := w.contact(); c.Record.Epoch != 3 || c.Record.AssignmentDigest != digest || !c.HeardAt.Equal(time.Now()) {
			t.Errorf("the contact does not show the answer: %+v", c.Record)
		}
		var sent wire.Assignment
		if err := json.Unmarshal(a.Orders()[0].Body, &sent); err != nil {
			t.Fatal(err)
		}
		if sent.HeardMono != known {
			t.Errorf("HeardMono %d, want the newest record's %d", sent.HeardMono, known)
		}
	})
}

func TestEveryOrderTakesItsPath(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		ctx := t.Context()
		_, assigned := w.fleet.Assign(ctx, m, wire.Assignment{Cluster: clusterUID, Epoch: 1, Role: wire.RoleHeld})
		_, handed := w.fleet.HandOver(ctx, m, wire.HandOver{Cluster: clusterUID, Epoch: 2, Timeout: time.Second})
		_, killed := w.fleet.Kill(ctx, m, wire.Kill{Cluster: clusterUID, Epoch: 3})
		_, refreshed := w.fleet.Refresh(ctx, m)
		if err := errors.Join(assigned, handed, killed, refreshed); err != nil {
			t.Fatal(err)
		}
		want := []string{wire.PathAssignment, wire.PathHandOver, wire.PathKill, wire.PathRefresh}
		for i, order := range a.Orders() {
			if order.Path != want[i] {
				t.Errorf("order %d went to %s, want %s", i, order.Path, want[i])
			}
		}
		if a.Streams() != 1 || len(w.network.dialsTo(m.Address)) != 1 {
			t.Error("an order made a connection of its own")
		}
	})
}

func TestARefusalSaysWhy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cluster string
		answer  *fakeagent.Answer
		want    *fleet.RefusedError // nil: an error, but no refusal
	}{
		"a stale epoch": {cluster: clusterUID, want: &fleet.RefusedError{Code: wire.CodeStaleEpoch, Epoch: 9, Message: "epoch 1 is older than 9"}},
		"another cluster": {cluster: "another", want: &fleet.RefusedError{
			Code: wire.CodeWrongCluster, Message: "this is cluster " + clusterUID,
		}},
		"a server that failed": {
			answer: &fakeagent.Answer{Status: http.StatusBadGateway, Body: wire.Error{Code: wire.CodeEngine, Message: "LOADING"}},
			want:   &fleet.RefusedError{Code: wire.CodeEngine, Message: "LOADING"},
		},
		"something that is no agent's error":  {answer: &fakeagent.Answer{Status: http.StatusNotFound, Body: "who are you"}},
		"something that is no agent's record": {answer: &fakeagent.Answer{Status: http.StatusOK, Body: "fine"}},
		"the record of another pod":           {answer: &fakeagent.Answer{Status: http.StatusOK, Body: wire.Record{PodUID: "another", Cluster: clusterUID}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				w.agent(m, func(o *fakeagent.Options) {
					o.Record.Epoch = 9
					o.OnOrder = func(fakeagent.Order) *fakeagent.Answer { return c.answer }
				})
				w.sync(m)
				_, err := w.fleet.Assign(t.Context(), m, wire.Assignment{Cluster: c.cluster, Epoch: 1, Role: wire.RoleHeld})
				if err == nil {
					t.Fatal("no error")
				}
				var refused *fleet.RefusedError
				if errors.As(err, &refused) != (c.want != nil) {
					t.Fatalf("error %v", err)
				}
				if c.want != nil && *refused != *c.want {
					t.Errorf("refused with %+v, want %+v", *refused, *c.want)
				}
				if got := w.contact(); !got.Connected || got.Record.Epoch != 9 {
					t.Errorf("the refusal changed the contact: %+v", got)
				}
			})
		})
	}
}

func TestAnOrderEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		frozen  bool // the whole machine, and not only the agent's handler
		within  time.Duration
		want    time.Duration
		timeout time.Duration // of a hand-over; 0: an assignment
	}{
		"two seconds if nobody says otherwise":            {want: fleet.OrderTimeout},
		"the caller's deadline":                           {within: 300 * time.Millisecond, want: 300 * time.Millisecond},
		"a hand-over may take its own time longer":        {timeout: 5 * time.Second, want: 5*time.Second + fleet.OrderTimeout},
		"a frozen machine":                                {frozen: true, want: fleet.OrderTimeout},
		"a frozen machine within the caller's own bounds": {frozen: true, within: 300 * time.Millisecond, want: 300 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				w.agent(m, func(o *fakeagent.Options) {
					o.OnOrder = func(order fakeagent.Order) *fakeagent.Answer {
						<-order.Context.Done()
						return nil
					}
				})
				w.sync(m)
				if c.frozen {
					w.network.freeze(m.Address)
				}
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				began := time.Now()
				var err error
				if c.timeout > 0 {
					_, err = w.fleet.HandOver(ctx, m, wire.HandOver{Cluster: clusterUID, Epoch: 1, Timeout: c.timeout})
				} else {
					_, err = w.fleet.Assign(ctx, m, wire.Assignment{Cluster: clusterUID, Epoch: 1, Role: wire.RoleHeld})
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want the deadline", err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("took %s, want %s", took, c.want)
				}
			})
		})
	}
}

func TestAnOrderDoesNotWaitForAStream(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		order := wire.Kill{Cluster: clusterUID, Epoch: 1}
		if _, err := w.fleet.Kill(t.Context(), m, order); !errors.Is(err, fleet.ErrUnknownMember) {
			t.Errorf("before Sync: %v", err)
		}
		w.sync(m)
		if _, err := w.fleet.Kill(t.Context(), m, order); !errors.Is(err, fleet.ErrNotConnected) {
			t.Errorf("before the stream: %v", err)
		}
	})
}

func TestOrdersPassWhileAnotherHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		w.agent(m, func(o *fakeagent.Options) {
			o.OnOrder = func(order fakeagent.Order) *fakeagent.Answer {
				if order.Path == wire.PathAssignment {
					<-order.Context.Done()
				}
				return nil
			}
		})
		w.sync(m)
		done := make(chan error, 1)
		go func() {
			_, err := w.fleet.Assign(t.Context(), m, wire.Assignment{Cluster: clusterUID, Epoch: 1, Role: wire.RoleHeld})
			done <- err
		}()
		w.pass(100 * time.Millisecond)
		if _, err := w.fleet.Kill(t.Context(), m, wire.Kill{Cluster: clusterUID, Epoch: 2}); err != nil {
			t.Errorf("kill while an assignment hangs: %v", err)
		}
		if err := <-done; err == nil {
			t.Error("the assignment did not hang")
		}
	})
}

// Answers and the stream overtake each other on one connection: what was known last must not come
// back.
func TestAnAnswerCountsAndAnOlderRecordDoesNotUndoIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		newer := record(m)
		newer.Seq, newer.Material, newer.Epoch = 1000, 50, 7
		a := w.agent(m, func(o *fakeagent.Options) {
			o.OnOrder = func(fakeagent.Order) *fakeagent.Answer {
				return &fakeagent.Answer{Status: http.StatusOK, Body: newer}
			}
		})
		w.sync(m)
		w.wantWakes(1, "stream opened")
		if _, err := w.fleet.Refresh(w.t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.wantWakes(1, "an answer with something new")
		if c := w.contact(); c.Record.Seq != 1000 || c.Record.Epoch != 7 {
			t.Errorf("the contact shows record %d of epoch %d", c.Record.Seq, c.Record.Epoch)
		}

		a.Beat()
		w.pass(10 * time.Second)
		w.wantWakes(0, "records from before the answer")
		c := w.contact()
		if c.Record.Seq != 1000 {
			t.Errorf("record %d took the place of record 1000", c.Record.Seq)
		}
		if c.SilentFor(time.Now()) > time.Second {
			t.Error("an older record is no sign of life")
		}
	})
}
