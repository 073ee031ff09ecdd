package main

import (
	"fmt"
	"strings"
	"time"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// changes between two observations of a cluster, as sentences for a spectator.
func changes(before, after *dbv1.RedisCluster) []string {
	texts := transitionChanges(before.Status.Transition, after.Status.Transition)
	if a, b := before.Status, after.Status; b.Primary != "" && (a.Primary != b.Primary || a.Epoch != b.Epoch) {
		texts = append(texts, fmt.Sprintf("%s is the new primary, epoch %d (before: %s, epoch %d)", b.Primary, b.Epoch, a.Primary, a.Epoch))
	}
	return append(texts, memberChanges(before.Status.Members, after.Status.Members)...)
}

func transitionChanges(before, after *dbv1.Transition) []string {
	if after == nil {
		return nil
	}
	if before == nil || before.Epoch != after.Epoch {
		before = &dbv1.Transition{}
	}
	var texts []string
	if before.Epoch == 0 {
		texts = append(texts, fmt.Sprintf("%s begins, epoch %d: %s", kindWords(after.Kind), after.Epoch, strings.TrimSuffix(after.Reason, ".")))
	}
	if after.To != "" && after.To != before.To {
		texts = append(texts, after.To+" is elected")
	}
	return texts
}

func kindWords(kind dbv1.TransitionKind) string {
	switch kind {
	case dbv1.TransitionFailover:
		return "a failover"
	case dbv1.TransitionHandOver:
		return "a hand-over"
	case dbv1.TransitionBootstrap:
		return "a bootstrap"
	}
	return string(kind)
}

func memberChanges(before, after []dbv1.MemberStatus) []string {
	known := map[string]dbv1.MemberStatus{}
	for _, m := range before {
		known[m.Name] = m
	}
	var texts []string
	for _, m := range after {
		// What a primary does is told by the change of the primary itself.
		if old := known[m.Name]; m.Role != dbv1.RolePrimary && (old.Role != m.Role || old.Ready != m.Ready) {
			texts = append(texts, m.Name+" is "+memberWords(m))
		}
	}
	return texts
}

func memberWords(m dbv1.MemberStatus) string {
	text := strings.ToLower(string(m.Role))
	switch {
	case m.Role == dbv1.RoleReplica && m.Ready:
		return "a replica in step"
	case m.Role == dbv1.RoleReplica:
		text = "a replica that catches up"
	case m.Role == dbv1.RoleHeld:
		text = "up again, held back until it follows the primary"
	case m.Role == dbv1.RoleUnknown:
		text = "not heard of"
	}
	return text
}

// firsts are the first writes after a moment; zero where there was none yet.
type firsts struct{ accepted, confirmed time.Duration }

// firstWrites that another member than old took after a moment.
func firstWrites(events []history.Event, after time.Duration, old string) firsts {
	var f firsts
	for _, e := range events {
		if e.Outcome != history.OK || e.Return <= after || e.Member == old || e.Member == "" {
			continue
		}
		f.accepted = earlier(f.accepted, e.Return)
		if e.Confirmed() {
			f.confirmed = earlier(f.confirmed, e.ConfirmedAt)
		}
	}
	return f
}

func earlier(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
