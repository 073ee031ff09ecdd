package topology

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// change carries out what the spec asks to be changed: first fewer members, then restarts. It is
// reached only while the primary serves.
func (s *State) change(d *Decision, p *Member) {
	d.Outdated = s.outdated()
	if s.scaleIn(d, p) {
		return
	}
	s.roll(d, p)
}

func (s *State) outdated() map[string][]rollout.Reason {
	out := map[string][]rollout.Reason{}
	for i := range s.Members {
		if m := &s.Members[i]; m.Pod.Exists && len(m.Pod.Outdated) > 0 {
			out[m.Name] = m.Pod.Outdated
		}
	}
	return out
}

// scaleIn lets the StatefulSet shrink once nothing is lost by it: the primary stays, and each leaver
// has either left the sync set or everything it holds is held by a stayer in step. It says whether
// a scaling is under way.
func (s *State) scaleIn(d *Decision, p *Member) bool {
	if s.SetReplicas <= s.Want.Replicas {
		if slices.ContainsFunc(s.Members, func(m Member) bool { return m.Pod.Exists && m.Ordinal >= s.Want.Replicas }) {
			d.State, d.Why = Scaling, "Waiting for the surplus members to stop."
		}
		return false
	}
	d.State = Scaling
	if p.Ordinal >= s.Want.Replicas {
		s.handOverToStayer(d, p)
		return true
	}
	if m := s.stayerBehind(p); m != "" {
		d.Why = fmt.Sprintf("Waiting for %s to be in step before members are removed.", m)
		return true
	}
	d.Why = fmt.Sprintf("Removing members: %d → %d.", s.SetReplicas, s.Want.Replicas)
	d.SetReplicas = s.Want.Replicas
	return true
}

func (s *State) handOverToStayer(d *Decision, p *Member) {
	d.Why = fmt.Sprintf("The primary %s is to be removed; waiting for a replica that can take over.", p.Name)
	if s.HandOverPause > 0 {
		d.wake(s.HandOverPause)
		return
	}
	if to := s.successor(p); to != nil {
		s.beginHandOver(d, p, to, fmt.Sprintf("%s is to be removed.", p.Name))
	}
}

// stayerBehind names a member that stays and is not in step with the primary. With nobody but the
// primary staying there is none.
func (s *State) stayerBehind(p *Member) string {
	for i := range s.Want.Replicas {
		j := slices.IndexFunc(s.Members, func(m Member) bool { return m.Ordinal == i })
		if j < 0 {
			return fmt.Sprintf("the member with ordinal %d", i)
		}
		if m := &s.Members[j]; m.Name != p.Name && !s.linked(m, p) {
			return m.Name
		}
	}
	return ""
}

// roll restarts outdated members one at a time.
func (s *State) roll(d *Decision, p *Member) {
	a := rollout.Next(s.rollInput(p))
	switch a.Kind {
	case rollout.Done:
		return
	case rollout.Wait:
		if d.State == Settled {
			d.State, d.Why = Rolling, a.Reason
		}
	case rollout.AwaitApproval:
		d.State, d.Why = AwaitingConsent, a.Reason
	case rollout.Replace:
		m := s.member(a.Member)
		d.State, d.Why = Rolling, a.Reason
		d.add(Step{DeletePod: &DeletePod{Pod: m.Name, UID: m.Pod.UID, Reason: a.Reason, Primary: m.Name == p.Name}})
	case rollout.HandOver:
		d.State, d.Why = Rolling, a.Reason
		s.rollPrimary(d, p, a.Reason)
	}
}

func (s *State) rollPrimary(d *Decision, p *Member, why string) {
	if s.HandOverPause > 0 {
		d.Why += fmt.Sprintf("; the last hand-over failed, the next one follows in %s", s.HandOverPause)
		d.wake(s.HandOverPause)
		return
	}
	if to := s.successor(p); to != nil {
		s.beginHandOver(d, p, to, why)
		return
	}
	d.Why += "; no replica is in step to take over"
}

func (s *State) rollInput(p *Member) rollout.Input {
	in := rollout.Input{Wanted: s.Want.Replicas, Strategy: rollout.Automatic, Approved: s.Want.Approved, Volatile: s.Want.Ephemeral}
	if s.Want.Supervised {
		in.Strategy = rollout.Supervised
	}
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Pod.Exists {
			continue
		}
		in.Members = append(in.Members, rollout.Member{
			Name: m.Name, Ordinal: m.Ordinal, Outdated: m.Pod.Outdated,
			Primary:  m.Name == p.Name,
			Healthy:  m.Name == p.Name || (s.linked(m, p) && s.inSyncSet(m.Name)),
			Broken:   s.broken(m),
			Gone:     m.Pod.Terminating,
			LagBytes: s.lag(m, p),
		})
	}
	return in
}

func (s *State) lag(m, p *Member) *int64 {
	if !s.linked(m, p) {
		return nil
	}
	lag := max(0, p.Agent.Facts.Offset-m.Agent.Facts.Offset)
	return &lag
}

// broken says whether the pod does not get to run its server. One whose agent speaks runs, whatever
// Kubernetes last noted about it.
func (s *State) broken(m *Member) bool { return m.Pod.Exists && m.Pod.Broken != "" && !s.live(m) }

// replaceBroken makes room for a taken-back spec while there is no primary: a pod that cannot come
// up and is not what the spec asks for any more is made again. Its volume stays; without a
// volume it is kept, as it may be the last copy (I5, I12).
func (s *State) replaceBroken(d *Decision) {
	if slices.ContainsFunc(d.Steps, Step.Disrupts) {
		return
	}
	for i := range s.Members {
		m := &s.Members[i]
		lastCopy := s.Want.Ephemeral && s.inSyncSet(m.Name)
		if !s.broken(m) || len(m.Pod.Outdated) == 0 || m.Pod.Terminating || lastCopy {
			continue
		}
		why := fmt.Sprintf("%s cannot come up and is outdated: %s", m.Name, m.Pod.Outdated[0])
		d.add(Step{DeletePod: &DeletePod{Pod: m.Name, UID: m.Pod.UID, Reason: why}})
		return
	}
}
