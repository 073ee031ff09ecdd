package rediscluster

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/conditions"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// report computes the status from what was observed, on every path, and writes it only if it changed.
// It is the only place where conditions are written, and none is ever read.
func (r *Reconciler) report(ctx context.Context, p *pass, alarm *steps.Alarm) (steps.Outcome, error) {
	if p.decision.State == "" {
		// The pass ended before anything was observed: what is known stays, but for what went wrong.
		return steps.Continue, r.writeStatus(ctx, p, p.reportProblems(r))
	}
	if p.newcomer() {
		// The manager before this one knew more: what it reported stays until all have been heard.
		alarm.Within(p.state.Want.Detection-p.state.WatchedFor, "members that were not heard yet")
		return steps.Continue, nil
	}
	r.measure(p)
	next := p.cluster.DeepCopy()
	s := &next.Status
	s.ObservedGeneration = p.cluster.Generation
	s.Replicas = int32(len(p.pods))
	s.Selector = labels.SelectorFromSet(naming.MemberSelector(p.cluster.Name, naming.PartOfRedis)).String()
	s.Members = p.memberStatuses()
	ready := 0
	for _, m := range s.Members {
		if m.Ready {
			ready++
		}
	}
	s.ReadyMembers = fmt.Sprintf("%d/%d", ready, p.cluster.Spec.Replicas)
	if primary := p.state.ServingPrimary(); primary != nil {
		s.Version = primary.Agent.Facts.Version
	}
	p.conditions(r, next)
	s.Phase = phase(s.Conditions, p)
	return steps.Continue, r.writeStatus(ctx, p, next)
}

func (r *Reconciler) writeStatus(ctx context.Context, p *pass, next *v1.RedisCluster) error {
	if apiequality.Semantic.DeepEqual(next.Status, p.before.Status) {
		return nil
	}
	if err := r.patchStatus(ctx, p, next); err != nil {
		return err
	}
	p.cluster = next
	p.memory.latest = next.DeepCopy()
	return nil
}

// reportProblems is the status of a pass that could not observe.
func (p *pass) reportProblems(r *Reconciler) *v1.RedisCluster {
	next := p.cluster.DeepCopy()
	if len(p.problems) > 0 {
		w := conditions.NewWriter(&next.Status.Conditions, p.cluster.Generation, r.Now())
		w.SetDegraded(p.problems...)
		w.SetPaused(p.cluster.Spec)
	}
	return next
}

func (p *pass) memberStatuses() []v1.MemberStatus {
	primary := p.state.ServingPrimary()
	ready := p.state.ReadyReplicas()
	out := make([]v1.MemberStatus, 0, len(p.state.Members))
	for i := range p.state.Members {
		m := &p.state.Members[i]
		s := v1.MemberStatus{Name: m.Name, Role: v1.MemberRole(p.state.Role(m)), Message: message(m)}
		if pod := p.pod(m.Name); pod != nil {
			s.Node = pod.Spec.NodeName
		}
		if m.Agent != nil {
			s.Version = m.Agent.Facts.Version
		}
		isReplica := slices.ContainsFunc(ready, func(o topology.Member) bool { return o.Name == m.Name })
		if isReplica {
			lag := lagBytes(primary.Agent.Facts.Offset - m.Agent.Facts.Offset)
			s.LagBytes = &lag
		}
		s.Ready = isReplica || (primary != nil && primary.Name == m.Name && p.routedUID() == m.Pod.UID)
		out = append(out, s)
	}
	return out
}

// message says what is wrong with a member, or what it waits for.
func message(m *topology.Member) string {
	switch {
	case !m.Pod.Exists:
		return "The pod does not exist."
	case m.Pod.Terminating:
		return "The pod is being stopped."
	case m.Pod.Broken != "":
		return m.Pod.Broken
	case m.Agent == nil || !m.Link.Connected:
		return "The agent is not connected."
	case m.Agent.ConfigError != "":
		return m.Agent.ConfigError
	case m.Agent.Fenced:
		return "Writes are blocked: the agent lost touch with the operator and the other members."
	}
	return ""
}

// lagBytes is coarse on purpose: a status that followed every byte would be written all the time.
// Below a mebibyte it is 0, above it the next power of two.
func lagBytes(lag int64) int64 {
	const mebibyte = 1 << 20
	if lag < mebibyte {
		return 0
	}
	return 1 << bits.Len64(uint64(lag-1))
}

// conditions sets all conditions from the snapshot and the decision.
func (p *pass) conditions(r *Reconciler, next *v1.RedisCluster) {
	w := conditions.NewWriter(&next.Status.Conditions, p.cluster.Generation, r.Now())
	w.SetAvailable(p.availability())
	w.SetProgressing(append(p.activities(), p.working...)...)
	p.findProblems(r)
	w.SetDegraded(p.problems...)
	w.SetUpToDate(p.currency())
	w.SetPaused(p.cluster.Spec)
}

func (p *pass) availability() conditions.Availability {
	a := conditions.Availability{
		Started: p.cluster.Status.Epoch > 0,
		Primary: p.cluster.Status.Primary,
		Contact: conditions.ContactKnown,
		Needed:  p.cluster.MinReplicasToWrite(),
		Detail:  p.decision.Why,
	}
	if p.cluster.Status.Transition != nil {
		a.Primary = ""
		return a
	}
	if p.primaryUnknown() {
		a.Contact = conditions.ContactLost
	}
	if primary := p.state.ServingPrimary(); primary != nil {
		a.Serving = p.routedUID() == primary.Pod.UID && !primary.Agent.Fenced
		for _, link := range primary.Agent.Facts.Replicas {
			if link.Online {
				a.Attached++
			}
		}
	}
	return a
}

// activities names what the decision works towards.
func (p *pass) activities() []conditions.Activity {
	reason := map[topology.Name]string{
		topology.Creating:        v1.ReasonBootstrapping,
		topology.Bootstrapping:   v1.ReasonBootstrapping,
		topology.FailingOver:     v1.ReasonFailingOver,
		topology.FailoverBlocked: v1.ReasonFailingOver,
		topology.HandingOver:     v1.ReasonHandingOver,
		topology.Joining:         v1.ReasonReplicasJoining,
		topology.Scaling:         v1.ReasonScaling,
		topology.Rolling:         v1.ReasonRollingUpdate,
		topology.AwaitingConsent: v1.ReasonRollingUpdate,
	}[p.decision.State]
	if reason == "" {
		return nil
	}
	return []conditions.Activity{{Reason: reason, Message: p.decision.Why}}
}

// findProblems turns the decision and the members into problems, the most important first.
func (p *pass) findProblems(r *Reconciler) {
	p.findRefusal(r)
	slices.SortStableFunc(p.problems, func(a, b conditions.Problem) int { return severity(a) - severity(b) })
	p.findMemberProblems()
	p.sayMemberEvents(r)
	p.sayApproval(r)
}

// findRefusal says why the operator does not go on, if it refuses to.
func (p *pass) findRefusal(r *Reconciler) {
	p.refuse(r, refusal{topology.FailoverBlocked, v1.ReasonFailoverBlocked, events.FailoverBlocked, p.blockedMessage()})
	if p.decision.State == topology.PrimaryUnknown {
		p.problem(v1.ReasonMemberUnreachable, "%s If the primary is lost for good, annotate the cluster with %s=%d to go on without what only members out of reach hold.",
			p.decision.Why, naming.AnnotationAcceptDataLoss, p.cluster.Status.Epoch)
	}
	p.refuse(r, refusal{topology.DivergentData, v1.ReasonDivergentData, events.DivergentData, p.decision.Why})
}

// refusal is a state in which the operator does not go on.
type refusal struct {
	state   topology.Name
	reason  string
	event   events.Event
	message string
}

// refuse reports the refusal while its state lasts, and tells of it once for each cause.
func (p *pass) refuse(r *Reconciler, f refusal) {
	topic := string(f.state)
	if p.decision.State != f.state {
		p.memory.settled(topic)
		return
	}
	p.problem(f.reason, "%s", f.message)
	if p.memory.once(topic, p.decision.Why) {
		f.event.Emit(r.Recorder, p.cluster, f.message)
		countRefused(p.key(), topic)
	}
}

// blockedMessage says what a blocked failover waits for and what a person can do.
func (p *pass) blockedMessage() string {
	if p.cluster.Status.Transition == nil {
		return p.decision.Why
	}
	return fmt.Sprintf("%s If they are lost for good, annotate the cluster with %s=%d to go on without what only they hold.",
		p.decision.Why, naming.AnnotationAcceptDataLoss, p.cluster.Status.Epoch)
}

func severity(problem conditions.Problem) int {
	switch problem.Reason {
	case v1.ReasonFailoverBlocked, v1.ReasonDivergentData:
		return 0
	}
	return 1
}

// findMemberProblems looks at the members once the cluster has started; before, they are merely starting.
func (p *pass) findMemberProblems() {
	for i := range p.state.Members {
		m := &p.state.Members[i]
		if m.Ordinal >= p.state.Want.Replicas {
			continue
		}
		role := p.state.Role(m)
		switch {
		case m.Pod.Broken != "":
			p.problem(v1.ReasonPodStuck, "Pod %s cannot come up: %s.", m.Name, m.Pod.Broken)
		case p.cluster.Status.Epoch == 0:
		case role == topology.ObservedUnknown && m.Link.Silent >= p.state.Want.Detection && m.Agent != nil:
			p.problem(v1.ReasonMemberUnreachable, "The agent of %s has not been heard for %s or more.", m.Name, p.state.Want.Detection)
		case m.Agent != nil && m.Agent.ConfigError != "":
			p.problem(v1.ReasonConfigRejected, "%s: %s.", m.Name, m.Agent.ConfigError)
		case role == topology.ObservedDown || role == topology.ObservedUnknown:
			p.problem(v1.ReasonMemberDown, "%s does not serve.", m.Name)
		case role == topology.ObservedHeld:
			p.problem(v1.ReasonMemberDown, "%s is held: it serves nobody until there is a primary to follow.", m.Name)
		}
	}
}

// sayMemberEvents tells once of each member that cannot come up or has stopped itself.
func (p *pass) sayMemberEvents(r *Reconciler) {
	for i := range p.state.Members {
		m := &p.state.Members[i]
		stuck, isolated := "stuck "+m.Name, "isolated "+m.Name
		switch {
		case m.Pod.Broken == "":
			p.memory.settled(stuck)
		case p.memory.once(stuck, m.Pod.UID):
			events.MemberStuck.Emit(r.Recorder, p.cluster, m.Name, m.Pod.Broken)
		}
		switch {
		case m.Agent == nil || !m.Agent.Isolated:
			p.memory.settled(isolated)
		case p.memory.once(isolated, m.Pod.UID):
			events.MemberIsolated.Emit(r.Recorder, p.cluster, m.Name)
		}
	}
}

// sayApproval tells once for each generation of the spec that a person is waited for.
func (p *pass) sayApproval(r *Reconciler) {
	if p.decision.State != topology.AwaitingConsent {
		return
	}
	if p.memory.once("approval", strconv.FormatInt(p.cluster.Generation, 10)) {
		events.ApprovalNeeded.Emit(r.Recorder, p.cluster, p.cluster.Status.Primary, naming.AnnotationApprovePrimaryRestart, p.cluster.Generation)
	}
}

func (p *pass) currency() conditions.Currency {
	c := conditions.Currency{AwaitingApproval: p.decision.State == topology.AwaitingConsent, Generation: p.cluster.Generation}
	for i := range p.state.Members {
		name := p.state.Members[i].Name
		if len(p.outdated[name]) == 0 {
			continue
		}
		o := conditions.OutdatedMember{Name: name}
		for _, why := range p.outdated[name] {
			o.Why = append(o.Why, string(why))
		}
		c.Outdated = append(c.Outdated, o)
	}
	return c
}

// phase is one word for people, from the conditions just written.
func phase(list []metav1.Condition, p *pass) string {
	is := func(kind string) metav1.ConditionStatus {
		for _, c := range list {
			if c.Type == kind {
				return c.Status
			}
		}
		return metav1.ConditionUnknown
	}
	switch {
	case p.cluster.Spec.Paused:
		return "Paused"
	case p.cluster.Status.Epoch == 0:
		return "Creating"
	case p.decision.State == topology.FailoverBlocked || p.decision.State == topology.DivergentData:
		return "Blocked"
	case p.decision.State == topology.FailingOver:
		return "FailingOver"
	case p.decision.State == topology.HandingOver:
		return "HandingOver"
	case is(v1.ConditionAvailable) == metav1.ConditionFalse:
		return "Unavailable"
	case is(v1.ConditionAvailable) == metav1.ConditionUnknown:
		return "Unknown"
	case is(v1.ConditionDegraded) == metav1.ConditionTrue:
		return "Degraded"
	case is(v1.ConditionProgressing) == metav1.ConditionTrue:
		return "Progressing"
	}
	return "Healthy"
}
