package redisstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// Words renders the steps of a decision, one line each.
func Words(d topology.Decision) []string {
	out := make([]string, 0, len(d.Steps))
	for _, s := range d.Steps {
		out = append(out, Step(s))
	}
	return out
}

// Step renders one step.
func Step(s topology.Step) string {
	switch {
	case s.Store != nil:
		return "store " + intent(*s.Store)
	case s.Route != nil && s.Route.Pod == "":
		return "route nowhere"
	case s.Route != nil:
		return fmt.Sprintf("route %s %s", s.Route.Pod, s.Route.UID)
	case s.Assign != nil:
		return "assign " + roles(*s.Assign)
	case s.Kill != nil:
		return fmt.Sprintf("kill %s %s @%d", s.Kill.Pod, s.Kill.UID, s.Kill.Epoch)
	case s.HandOver != nil:
		return fmt.Sprintf("hand over %s → %s @%d", s.HandOver.From, s.HandOver.To, s.HandOver.Epoch)
	case s.DeletePod != nil:
		return fmt.Sprintf("delete %s %s", s.DeletePod.Pod, s.DeletePod.UID)
	case s.Announce != nil:
		return fmt.Sprintf("announce %s", s.Announce.Occasion)
	}
	return "nothing"
}

func intent(i topology.Intent) string {
	serving := fmt.Sprintf("primary %s @%d, sync set [%s]", i.Primary, i.Epoch, strings.Join(i.SyncSet, " "))
	if i.Primary == "" {
		serving = "no primary"
	}
	t := i.Transition
	if t == nil {
		return serving
	}
	to := t.To
	if to == "" {
		to = "?"
	}
	return fmt.Sprintf("%s %s → %s @%d", t.Kind, t.From, to, t.Epoch)
}

func roles(a topology.Assign) string {
	byRole := map[topology.Role][]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		byRole[a.Roles[name]] = append(byRole[a.Roles[name]], name)
	}
	var parts []string
	for _, role := range []topology.Role{topology.Primary, topology.Replica, topology.Held} {
		if names := byRole[role]; len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s[%s]", role, strings.Join(names, " ")))
		}
	}
	return fmt.Sprintf("%s @%d", strings.Join(parts, " "), a.Epoch)
}
