package observe_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func cluster() *v1.RedisCluster {
	c := &v1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "cluster-1", Generation: 4}}
	c.Spec.Replicas = 2
	c.Spec.Failover.Detection.Duration = 3 * time.Second
	return c
}

func parts() rollout.Parts { return rollout.Parts{"image": "redis:8.0"} }

func pod(name string) corev1.Pod {
	made, err := parts().Encode()
	if err != nil {
		panic(err)
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{naming.AnnotationRestartParts: made}},
		Status:     corev1.PodStatus{PodIP: "10.0.0." + name[len(name)-1:]},
	}
}

func record(change func(r *wire.Record, f *facts.Facts)) *wire.Record {
	r := &wire.Record{Cluster: "cluster-1", Epoch: 7, EpochMillis: 100, Server: wire.Server{Phase: wire.ServerRunning}}
	f := facts.Facts{IsPrimary: true, ReplID: "a", ReplID2: "b", SecondOffset: 9, Offset: 20, Keys: 3}
	if change != nil {
		change(r, &f)
	}
	if r.Engine == nil && r.Server.Phase == wire.ServerRunning {
		b, err := json.Marshal(f)
		if err != nil {
			panic(err)
		}
		r.Engine = b
	}
	return r
}

func contact(name string, r *wire.Record) fleet.Contact {
	return fleet.Contact{
		Member: fleet.Member{Pod: name, PodUID: "uid-" + name}, Connected: true, Record: r,
		HeardAt: noon, SilentSince: noon,
	}
}

// snapshot is what is seen a second after noon.
func snapshot(t *testing.T, change func(in *observe.Input)) topology.State {
	t.Helper()
	in := observe.Input{
		Cluster: cluster(), Pods: []corev1.Pod{pod("shop-0"), pod("shop-1")},
		Contacts: []fleet.Contact{contact("shop-0", record(nil)), contact("shop-1", record(nil))},
		Parts:    parts(), Memory: observe.NewMemory(noon), Now: noon.Add(time.Second),
	}
	if change != nil {
		change(&in)
	}
	s, err := observe.Snapshot(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARecordThatSaysNothingUsableIsUnknownAndNotEmpty(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		record *wire.Record
		known  bool
	}{
		"no record yet":                        {nil, false},
		"a record":                             {record(nil), true},
		"facts that cannot be read":            {record(func(r *wire.Record, _ *facts.Facts) { r.Engine = json.RawMessage(`{"offset":"many"}`) }), false},
		"a running server without facts":       {record(func(r *wire.Record, _ *facts.Facts) { r.Engine = json.RawMessage{} }), false},
		"an agent of another cluster":          {record(func(r *wire.Record, _ *facts.Facts) { r.Cluster = "cluster-0" }), false},
		"a server that is down has no facts":   {record(func(r *wire.Record, _ *facts.Facts) { r.Server.Phase = wire.ServerDown }), true},
		"a server that waits to be told":       {record(func(r *wire.Record, _ *facts.Facts) { r.Server.Phase = wire.ServerWaiting }), true},
		"fields that this version cannot know": {record(func(r *wire.Record, _ *facts.Facts) { r.Engine = json.RawMessage(`{"newer":1}`) }), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(t, func(in *observe.Input) { in.Contacts[0].Record = c.record })
			if known := s.Members[0].Agent != nil; known != c.known {
				t.Errorf("the agent is known: %t, want %t", known, c.known)
			}
			if s.Members[1].Agent == nil {
				t.Error("the other member became unknown, too")
			}
		})
	}
}

func TestTheLineageArrivesAsItWasSent(t *testing.T) {
	t.Parallel()
	stored := &facts.Stored{Cluster: "old", Epoch: 3, WasPrimary: true, ReplID: "z", Offset: 5, Keys: 2}
	s := snapshot(t, func(in *observe.Input) {
		in.Contacts[0].Record = record(func(r *wire.Record, f *facts.Facts) {
			r.SpentEpoch, r.Stopping, r.WritesFenced, r.AssignmentError = 6, true, true, "no"
			f.Following, f.Stored = "10.0.0.9:6379", stored
		})
	})
	a := s.Members[0].Agent
	if a.Epoch != 7 || a.SpentEpoch != 6 || !a.Stopping || !a.Fenced || a.ConfigError != "no" || a.Phase != topology.Running {
		t.Errorf("the agent is %+v", *a)
	}
	f := a.Facts
	if f.ReplID != "a" || f.ReplID2 != "b" || f.SecondOffset != 9 || f.Offset != 20 || f.Keys != 3 || f.Stored == nil || *f.Stored != *stored {
		t.Errorf("the facts are %+v", f)
	}
	if f.Following != "10.0.0.9" {
		t.Errorf("it follows %q: members are compared by the address of their pods", f.Following)
	}
}

func TestAgesGrowSinceTheRecord(t *testing.T) {
	t.Parallel()
	s := snapshot(t, func(in *observe.Input) {
		in.Contacts[0].Record = record(func(r *wire.Record, _ *facts.Facts) {
			r.Peers = map[string]wire.PeerHeard{
				"shop-1": {AnsweredMillis: 200, CalledMillis: 300},
				"shop-2": {AnsweredMillis: -1, CalledMillis: -1},
			}
		})
	})
	a := s.Members[0].Agent
	if a.EpochAge != 1100*time.Millisecond {
		t.Errorf("the epoch is %s old", a.EpochAge)
	}
	want := map[string]topology.Touch{
		"shop-1": {Answered: 1200 * time.Millisecond, Called: 300 * time.Millisecond},
		"shop-2": {Answered: -time.Millisecond, Called: -time.Millisecond},
	}
	if !maps.Equal(a.Peers, want) {
		t.Errorf("peers are %v, want %v", a.Peers, want)
	}
	if l := s.Members[0].Link; !l.Connected || l.Silent != time.Second {
		t.Errorf("the link is %+v", l)
	}
}

func TestAMemberIsItsPresentPod(t *testing.T) {
	t.Parallel()
	s := snapshot(t, func(in *observe.Input) {
		// The pod was made anew; only the one before was heard.
		in.Pods[0].UID = "uid-new"
		in.Pods = slices.Delete(in.Pods, 1, 2)
		in.Contacts[1].Connected, in.Contacts[1].Record.Final = false, true
	})
	if m := s.Members[0]; m.Pod.UID != "uid-new" || m.Agent != nil || m.Link.Connected {
		t.Errorf("the member has what its predecessor said: %+v", m)
	}
	if len(s.Members) != 2 || s.Members[1].Name != "shop-1" || s.Members[1].Pod.Exists {
		t.Errorf("a wanted member without a pod: %+v", s.Members)
	}
	want := []topology.Ghost{
		{Name: "shop-0", UID: "uid-shop-0", Connected: true, Silent: time.Second},
		{Name: "shop-1", UID: "uid-shop-1", Silent: time.Second, Dead: true},
	}
	if !slices.Equal(s.Ghosts, want) {
		t.Errorf("ghosts are %+v, want %+v", s.Ghosts, want)
	}
}

func TestAGhostIsDeadOnlyByItsOwnWord(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(r *wire.Record)
		dead   bool
	}{
		"it ended in order":                       {func(r *wire.Record) { r.Final = true }, true},
		"its server was killed by order":          {func(r *wire.Record) { r.Server = wire.Server{Phase: wire.ServerDown, KilledEpoch: 3} }, true},
		"its server crashed and will start again": {func(r *wire.Record) { r.Server = wire.Server{Phase: wire.ServerDown} }, false},
		"it stops":  {func(r *wire.Record) { r.Stopping = true }, false},
		"it serves": {func(*wire.Record) {}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(t, func(in *observe.Input) {
				in.Pods = in.Pods[1:]
				c.change(in.Contacts[0].Record)
			})
			if len(s.Ghosts) != 1 || s.Ghosts[0].Dead != c.dead {
				t.Errorf("ghosts are %+v, dead should be %t", s.Ghosts, c.dead)
			}
		})
	}
}

func TestBrokenPodsSayWhy(t *testing.T) {
	t.Parallel()
	waiting := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "redis", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "words"}},
			}}
		}
	}
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"a pod that runs":                 {func(*corev1.Pod) {}, ""},
		"a container that is being made":  {waiting("ContainerCreating"), ""},
		"an image that cannot be pulled":  {waiting("ImagePullBackOff"), "container redis: ImagePullBackOff: words"},
		"a container that crashes":        {waiting("CrashLoopBackOff"), "container redis: CrashLoopBackOff: words"},
		"a Secret that cannot be mounted": {waiting("CreateContainerConfigError"), "CreateContainerConfigError"},
		"an init container": {func(p *corev1.Pod) {
			waiting("ErrImagePull")(p)
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
		}, "ErrImagePull"},
		"no node takes it": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes",
			}}
		}, "no node takes the pod: 0/3 nodes"},
		"it waits for its turn to be scheduled": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated"}}
		}, ""},
		"it failed": {func(p *corev1.Pod) { p.Status.Phase, p.Status.Message = corev1.PodFailed, "evicted" }, "evicted"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pod("shop-0")
			c.change(&p)
			got := observe.Broken(&p)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestOutdatedPodsSayWhat(t *testing.T) {
	t.Parallel()
	s := snapshot(t, func(in *observe.Input) {
		in.Parts = rollout.Parts{"image": "redis:8.2"}
		in.Pods[1].Annotations = nil
	})
	if got := s.Members[0].Pod.Outdated; !slices.Equal(got, []rollout.Reason{"image redis:8.0 → redis:8.2"}) {
		t.Errorf("the first is outdated for %q", got)
	}
	if got := s.Members[1].Pod.Outdated; len(got) != 1 {
		t.Errorf("one that does not say what it was made from is outdated for %q", got)
	}
	if got := snapshot(t, nil).Members[0].Pod.Outdated; len(got) != 0 {
		t.Errorf("one that is current is outdated for %q", got)
	}
}

func TestConsentIsUsedUpWithWhatItWasGivenFor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		annotations      map[string]string
		transition       int64
		approved, accept bool
	}{
		"approval of this generation":             {map[string]string{naming.AnnotationApprovePrimaryRestart: "4"}, 0, true, false},
		"approval of another generation":          {map[string]string{naming.AnnotationApprovePrimaryRestart: "3"}, 0, false, false},
		"loss accepted in this epoch":             {map[string]string{naming.AnnotationAcceptDataLoss: "7"}, 8, false, true},
		"loss accepted, and the change restarted": {map[string]string{naming.AnnotationAcceptDataLoss: "7"}, 12, false, true},
		"loss accepted in an epoch that is over":  {map[string]string{naming.AnnotationAcceptDataLoss: "6"}, 8, false, false},
		"loss accepted in one that never was":     {map[string]string{naming.AnnotationAcceptDataLoss: "8"}, 8, false, false},
		"loss accepted before there was anything": {map[string]string{naming.AnnotationAcceptDataLoss: "0"}, 0, false, false},
		"nothing": {nil, 8, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(t, func(in *observe.Input) {
				in.Cluster.Annotations = c.annotations
				if c.transition > 0 {
					in.Cluster.Status.Epoch = 7
					in.Cluster.Status.Transition = &v1.Transition{Kind: v1.TransitionFailover, Epoch: c.transition}
				}
			})
			if s.Want.Approved != c.approved || s.Want.AcceptLoss != c.accept {
				t.Errorf("approved %t, loss accepted %t", s.Want.Approved, s.Want.AcceptLoss)
			}
		})
	}
}

func TestTheLeaseEndsBeforeDetection(t *testing.T) {
	t.Parallel()
	for _, detection := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
		if lease := observe.Lease(detection); lease <= 0 || lease >= detection {
			t.Errorf("the lease for %s is %s", detection, lease)
		}
	}
}
