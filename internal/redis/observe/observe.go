package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Input is all that a State is made from.
type Input struct {
	Cluster *v1.RedisCluster
	// Pods of the cluster, in any order.
	Pods []corev1.Pod
	// Contacts with the agents, ghosts included.
	Contacts []fleet.Contact
	// Set is the StatefulSet; nil: there is none yet.
	Set *appsv1.StatefulSet
	// RoutedUID is the UID of the pod that the primary Service leads to.
	RoutedUID string
	// Parts is what a pod made from the present spec would be made from.
	Parts rollout.Parts
	// Memory of this manager about the cluster.
	Memory *Memory
	Now    time.Time
}

// Snapshot makes the State. The Memory in the Input is brought up to date on the way.
func Snapshot(in Input) (topology.State, error) {
	s := topology.State{
		Want:             wantOf(in.Cluster),
		Intent:           IntentOf(&in.Cluster.Status),
		RoutedUID:        in.RoutedUID,
		WatchedFor:       in.Memory.watchedFor(in.Now),
		HandOverFailures: in.Memory.failures(in.Cluster.Status.Transition),
		HandOverPause:    in.Memory.pause(in.Now),
	}
	if in.Set != nil && in.Set.Spec.Replicas != nil {
		s.SetReplicas = int(*in.Set.Spec.Replicas)
	}
	members, err := in.members(max(s.SetReplicas, s.Want.Replicas))
	if err != nil {
		return topology.State{}, err
	}
	s.Members = members
	s.Ghosts = in.ghosts()
	in.Memory.noteDetached(&s)
	return s, nil
}

func wantOf(c *v1.RedisCluster) topology.Want {
	detection := c.Spec.Failover.Detection.Duration
	return topology.Want{
		Cluster:    string(c.UID),
		Replicas:   int(c.Spec.Replicas),
		Detection:  detection,
		Lease:      Lease(detection),
		Supervised: c.Spec.UpdateStrategy == v1.UpdateSupervised,
		Approved:   c.Annotations[naming.AnnotationApprovePrimaryRestart] == strconv.FormatInt(c.Generation, 10),
		Ephemeral:  c.Spec.Storage.Ephemeral,
		Paused:     c.Spec.Paused,
		Deleting:   !c.DeletionTimestamp.IsZero(),
		AcceptLoss: acceptsLoss(c),
	}
}

// Lease of a primary that is out of touch, as a part of the time of detection: at the moment when it
// counts as unreachable it has long stopped to take writes.
func Lease(detection time.Duration) time.Duration { return detection * 2 / 3 }

// acceptsLoss: the consent names the epoch that is to end, so that it holds for every attempt to end it, and
// is used up when that is done. An epoch that a failover leads to would be the next one to end.
func acceptsLoss(c *v1.RedisCluster) bool {
	begun := c.Status.Epoch > 0 || c.Status.Transition != nil
	return begun && c.Annotations[naming.AnnotationAcceptDataLoss] == strconv.FormatInt(c.Status.Epoch, 10)
}

// IntentOf reads the stored intent from a status.
func IntentOf(status *v1.RedisClusterStatus) topology.Intent {
	i := topology.Intent{
		Epoch: status.Epoch, Primary: status.Primary, PrimaryUID: status.PrimaryUID,
		ReplID: status.ReplicationID, SyncSet: slices.Clone(status.SyncSet),
	}
	if t := status.Transition; t != nil {
		i.Transition = &topology.Transition{
			Kind: topology.Kind(t.Kind), Epoch: t.Epoch, Reason: t.Reason,
			From: t.From, FromUID: t.FromUID, To: t.To, ToUID: t.ToUID,
		}
	}
	return i
}

// members lists a member for every ordinal below n, for every pod beyond, and for every name of the
// sync set that has no pod any more: what becomes of what it may hold is a question of its own.
func (in Input) members(n int) ([]topology.Member, error) {
	pods := map[int]*corev1.Pod{}
	for i := range n {
		pods[i] = nil
	}
	for _, name := range in.Cluster.Status.SyncSet {
		ordinal, err := naming.Ordinal(in.Cluster.Name, name)
		if err != nil {
			return nil, fmt.Errorf("sync set in the status: %w", err)
		}
		pods[ordinal] = nil
	}
	for i := range in.Pods {
		ordinal, err := naming.Ordinal(in.Cluster.Name, in.Pods[i].Name)
		if err != nil {
			return nil, fmt.Errorf("pod carries the cluster's labels: %w", err)
		}
		pods[ordinal] = &in.Pods[i]
	}
	members := make([]topology.Member, 0, len(pods))
	for _, ordinal := range slices.Sorted(maps.Keys(pods)) {
		members = append(members, in.member(ordinal, pods[ordinal]))
	}
	return members, nil
}

func (in Input) member(ordinal int, pod *corev1.Pod) topology.Member {
	m := topology.Member{Name: naming.Pod(in.Cluster.Name, ordinal), Ordinal: ordinal, DetachedAt: -1}
	if pod == nil {
		return m
	}
	m.Pod = topology.Pod{
		Exists:      true,
		UID:         string(pod.UID),
		Address:     pod.Status.PodIP,
		Terminating: !pod.DeletionTimestamp.IsZero(),
		Broken:      Broken(pod),
		Outdated:    outdated(pod, in.Parts),
	}
	if c := in.contact(string(pod.UID)); c != nil {
		m.Link = topology.Link{Connected: c.Connected, Silent: c.SilentFor(in.Now)}
		m.Agent = agentOf(c.Record, in.Cluster)
		age(m.Agent, m.Link.Silent)
	}
	return m
}

func outdated(pod *corev1.Pod, want rollout.Parts) []rollout.Reason {
	have, err := rollout.Decode(pod.Annotations[naming.AnnotationRestartParts])
	if err != nil {
		return []rollout.Reason{rollout.Reason("the pod does not say what it was made from: " + err.Error())}
	}
	return rollout.Diff(have, want)
}

func (in Input) contact(podUID string) *fleet.Contact {
	i := slices.IndexFunc(in.Contacts, func(c fleet.Contact) bool { return c.PodUID == podUID })
	if i < 0 {
		return nil
	}
	return &in.Contacts[i]
}

// ghosts are contacts whose pods are not in the API any more.
func (in Input) ghosts() []topology.Ghost {
	var out []topology.Ghost
	for _, c := range in.Contacts {
		if slices.ContainsFunc(in.Pods, func(p corev1.Pod) bool { return string(p.UID) == c.PodUID }) {
			continue
		}
		r := c.Record
		out = append(out, topology.Ghost{
			Name: c.Pod, UID: c.PodUID, Connected: c.Connected, Silent: c.SilentFor(in.Now),
			Dead: r != nil && (r.Final || (r.Server.Phase == wire.ServerDown && r.Server.KilledEpoch > 0)),
		})
	}
	return out
}

// agentOf reads a record; nil where there is none, or where it speaks of another cluster.
func agentOf(r *wire.Record, cluster *v1.RedisCluster) *topology.Agent {
	if r == nil || r.Cluster != string(cluster.UID) {
		return nil
	}
	a := &topology.Agent{
		Epoch:           r.Epoch,
		EpochAge:        millis(r.EpochMillis),
		SpentEpoch:      r.SpentEpoch,
		Phase:           topology.Phase(r.Server.Phase),
		UnresponsiveFor: millis(r.Server.UnresponsiveMillis),
		Stopping:        r.Stopping,
		Final:           r.Final,
		Fenced:          r.WritesFenced,
		Isolated:        r.Isolated,
		ConfigError:     r.AssignmentError,
		Peers:           map[string]topology.Touch{},
	}
	for pod, p := range r.Peers {
		a.Peers[pod] = topology.Touch{Answered: millis(p.AnsweredMillis), Called: millis(p.CalledMillis)}
	}
	if len(r.Engine) > 0 {
		// An agent that writes what we cannot read is not understood, hence unknown, not empty.
		if err := json.Unmarshal(r.Engine, &a.Facts); err != nil {
			return nil
		}
	} else if a.Phase == topology.Running {
		return nil
	}
	a.Facts.Following = hostOf(a.Facts.Following)
	return a
}

// hostOf drops the port: members are compared by the address of their pods.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// age adds the time since the record to what the record counts from. When a peer last called is left
// as it is: it may have called again since, and what it says decides whether a lease has run out.
func age(a *topology.Agent, since time.Duration) {
	if a == nil {
		return
	}
	a.EpochAge += since
	for pod, t := range a.Peers {
		if t.Answered >= 0 {
			t.Answered += since
			a.Peers[pod] = t
		}
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Facts reads the engine's facts of a record; nil where there are none.
func Facts(r *wire.Record) *facts.Facts {
	if r == nil || len(r.Engine) == 0 {
		return nil
	}
	var f facts.Facts
	if err := json.Unmarshal(r.Engine, &f); err != nil {
		return nil
	}
	return &f
}
