package redisstate

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// Want changes what the spec asks for.
func Want(change func(w *topology.Want)) Change {
	return func(s *topology.State) { change(&s.Want) }
}

// Wanted asks for n members; the StatefulSet is as it was.
func Wanted(n int) Change { return Want(func(w *topology.Want) { w.Replicas = n }) }

// Supervised asks for approval before the primary is restarted.
func Supervised() Change { return Want(func(w *topology.Want) { w.Supervised = true }) }

// Approved gives that approval.
func Approved() Change { return Want(func(w *topology.Want) { w.Approved = true }) }

// Ephemeral members lose their data with their pod.
func Ephemeral() Change { return Want(func(w *topology.Want) { w.Ephemeral = true }) }

// Paused by spec.paused.
func Paused() Change { return Want(func(w *topology.Want) { w.Paused = true }) }

// Deleting the whole cluster.
func Deleting() Change { return Want(func(w *topology.Want) { w.Deleting = true }) }

// AcceptLoss is a person's consent to go on without the missing members.
func AcceptLoss() Change { return Want(func(w *topology.Want) { w.AcceptLoss = true }) }

// Stored changes the stored intent.
func Stored(change func(i *topology.Intent)) Change {
	return func(s *topology.State) { change(&s.Intent) }
}

// Forgotten: the status is empty.
func Forgotten() Change { return Stored(func(i *topology.Intent) { *i = topology.Intent{} }) }

// SyncSet stores the members that may hold a confirmed write alone.
func SyncSet(ordinals ...int) Change {
	return Stored(func(i *topology.Intent) { i.SyncSet = Names(ordinals...) })
}

// Served stores who is primary, and since which epoch.
func Served(primary int, epoch int64) Change {
	return Stored(func(i *topology.Intent) { i.Primary, i.PrimaryUID, i.Epoch = Name(primary), UID(primary), epoch })
}

// FailingOver stores a failover away from a member in an epoch; nobody is elected.
func FailingOver(from int, epoch int64) Change {
	return transition(topology.Transition{Kind: topology.Failover, Epoch: epoch, From: Name(from), FromUID: UID(from), Reason: "a test"})
}

// Elected names the candidate of the stored transition.
func Elected(to int) Change {
	return Stored(func(i *topology.Intent) { i.Transition.To, i.Transition.ToUID = Name(to), UID(to) })
}

// HandingOver stores a hand-over in an epoch.
func HandingOver(from, to int, epoch int64) Change {
	return transition(topology.Transition{
		Kind: topology.HandOver, Epoch: epoch, Reason: "a test",
		From: Name(from), FromUID: UID(from), To: Name(to), ToUID: UID(to),
	})
}

// Bootstrapping stores the first election.
func Bootstrapping(epoch int64) Change {
	return transition(topology.Transition{Kind: topology.Bootstrap, Epoch: epoch, Reason: "a test"})
}

func transition(t topology.Transition) Change {
	return Stored(func(i *topology.Intent) {
		stored := t
		i.Transition = &stored
	})
}

// Routed leads the primary Service to the pod of a member.
func Routed(i int) Change { return func(s *topology.State) { s.RoutedUID = UID(i) } }

// RoutedNowhere takes the route away.
func RoutedNowhere() Change { return func(s *topology.State) { s.RoutedUID = "" } }

// SetReplicas is what the StatefulSet asks for.
func SetReplicas(n int) Change { return func(s *topology.State) { s.SetReplicas = n } }

// WatchedFor is how long the manager has been there.
func WatchedFor(d time.Duration) Change { return func(s *topology.State) { s.WatchedFor = d } }

// HandOverFailed counts refusals by the engine.
func HandOverFailed(times int) Change { return func(s *topology.State) { s.HandOverFailures = times } }

// HandOverPaused is how long no hand-over may begin.
func HandOverPaused(d time.Duration) Change { return func(s *topology.State) { s.HandOverPause = d } }

// GhostConnected is the first pod of a member, gone from the API, whose agent speaks.
func GhostConnected(i int) Change {
	return ghost(topology.Ghost{Name: Name(i), UID: UID(i), Connected: true})
}

// GhostSilent is the same without a word for that long.
func GhostSilent(i int, silent time.Duration) Change {
	return ghost(topology.Ghost{Name: Name(i), UID: UID(i), Silent: silent})
}

// GhostDead is the same after its agent said that the server is dead for good.
func GhostDead(i int) Change { return ghost(topology.Ghost{Name: Name(i), UID: UID(i), Dead: true}) }

func ghost(g topology.Ghost) Change {
	return func(s *topology.State) { s.Ghosts = append(s.Ghosts, g) }
}

// CutFromEachOther lets no agent of a hear one of b, for that long.
func CutFromEachOther(a, b []int, age time.Duration) Change {
	return func(s *topology.State) {
		for _, i := range a {
			for _, j := range b {
				apart(s, i, j, age)
				apart(s, j, i, age)
			}
		}
	}
}

func apart(s *topology.State, i, j int, age time.Duration) {
	if m := find(s, i); m != nil && m.Agent != nil {
		m.Agent.Peers[Name(j)] = topology.Touch{Answered: age, Called: age}
	}
}

func find(s *topology.State, ordinal int) *topology.Member {
	for i := range s.Members {
		if s.Members[i].Ordinal == ordinal {
			return &s.Members[i]
		}
	}
	return nil
}
