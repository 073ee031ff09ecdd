package redisstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// Picture renders a State in a few lines, for the log of a test that found a bad decision.
func Picture(s topology.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v, StatefulSet of %d, watched for %s, routed to %q, hand-over: %d failures, pause %s\n",
		s.Want, s.SetReplicas, s.WatchedFor, s.RoutedUID, s.HandOverFailures, s.HandOverPause)
	fmt.Fprintf(&b, "stored: %s, lineage %s", intent(s.Intent), s.Intent.ReplID)
	if s.Intent.Transition != nil {
		fmt.Fprintf(&b, ", before: primary %s (%s) @%d, sync set %v, %+v",
			s.Intent.Primary, s.Intent.PrimaryUID, s.Intent.Epoch, s.Intent.SyncSet, *s.Intent.Transition)
	}
	b.WriteString("\n")
	for i := range s.Members {
		b.WriteString(member(&s.Members[i]))
	}
	for _, g := range s.Ghosts {
		fmt.Fprintf(&b, "ghost %+v\n", g)
	}
	return b.String()
}

func member(m *topology.Member) string {
	out := fmt.Sprintf("%s: pod %+v, link %+v, detached at %d\n", m.Name, m.Pod, m.Link, m.DetachedAt)
	if m.Agent == nil {
		return out
	}
	a := *m.Agent
	stored := a.Facts.Stored
	peers, f := a.Peers, a.Facts
	f.Stored = nil
	out += fmt.Sprintf("   %s @%d for %s, spent @%d, unresponsive %s, stopping %t, final %t, fenced %t\n",
		a.Phase, a.Epoch, a.EpochAge, a.SpentEpoch, a.UnresponsiveFor, a.Stopping, a.Final, a.Fenced)
	out += fmt.Sprintf("   primary %t, %s/%s until %d, offset %d, keys %d, follows %q up %t sync %t loading %t last byte %d, %s, replicas %+v\n",
		f.IsPrimary, f.ReplID, f.ReplID2, f.SecondOffset, f.Offset, f.Keys, f.Following, f.LinkUp, f.SyncInProgress, f.Loading,
		f.LastIOMillis, f.FailoverState, f.Replicas)
	if stored != nil {
		out += fmt.Sprintf("   note %+v\n", *stored)
	}
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		out += fmt.Sprintf("   %s answered %s, called %s ago\n", name, peers[name].Answered, peers[name].Called)
	}
	return out
}
