package rediscluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/credentials"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// givenSecretPeriod is how often a user's own Secret is read when it does not carry the cluster's
// label; with the label a change is seen at once.
const (
	givenSecretPeriod = 15 * time.Second
	// givenSecretIdle is how often it is read for its own sake while the password in it is good.
	givenSecretIdle = time.Minute
)

// certificates keeps the cluster's authority and the agents' certificate. Without them no agent can
// be spoken to, so the pass ends where they cannot be made.
func (r *Reconciler) certificates(ctx context.Context, p *pass, alarm *steps.Alarm) (steps.Outcome, error) {
	var stored pki.Material
	var err error
	if stored.Authority, err = r.ownSecret(ctx, p, naming.CASecret(p.cluster.Name)); err != nil {
		return steps.Stop, err
	}
	if stored.Agents, err = r.ownSecret(ctx, p, naming.AgentTLSSecret(p.cluster.Name)); err != nil {
		return steps.Stop, err
	}
	if p.cluster.Spec.Paused && stored.Authority == nil {
		return steps.Continue, nil
	}
	// A paused cluster's certificates are renewed all the same: with one that has run out the members
	// could not reach each other, and would stop.
	serverName := naming.AgentServerName(p.cluster.Namespace, p.cluster.Name)
	plan, err := pki.Plan(r.Now(), pki.Input{
		Material: stored, Name: p.cluster.Name, ServerName: serverName, Propagation: pki.DefaultPropagation,
	})
	if err != nil {
		return steps.Stop, fmt.Errorf("plan certificates: %w", err)
	}
	if plan.WakeAfter > 0 {
		alarm.Within(plan.WakeAfter, "certificates")
	}
	p.material = plan.Material
	if plan.Changed {
		if err := r.storeCertificates(ctx, p, plan); err != nil {
			return steps.Stop, err
		}
	}
	if p.tls, err = pki.NewClientTLS(plan.Material, serverName); err != nil {
		return steps.Stop, fmt.Errorf("make the manager's certificate: %w", err)
	}
	return steps.Continue, nil
}

// storeCertificates writes the authority first: a crash in between leaves agents that the next plan can reach.
func (r *Reconciler) storeCertificates(ctx context.Context, p *pass, plan pki.Result) error {
	for _, s := range []struct {
		name string
		data map[string][]byte
	}{
		{naming.CASecret(p.cluster.Name), plan.Material.Authority},
		{naming.AgentTLSSecret(p.cluster.Name), plan.Material.Agents},
	} {
		if err := r.apply(ctx, p, resources.Secret(p.cluster, s.name, s.data)); err != nil {
			return err
		}
	}
	if p.cluster.Status.Epoch > 0 {
		events.CertificatesRenewed.Emit(r.Recorder, p.cluster, plan.Reason)
	}
	return nil
}

// credentials says which passwords the servers accept. The internal Secret is written before any
// member is told.
func (r *Reconciler) credentials(ctx context.Context, p *pass, alarm *steps.Alarm) (steps.Outcome, error) {
	if p.cluster.Spec.Paused {
		return steps.Continue, nil
	}
	internal, err := r.ownSecret(ctx, p, naming.InternalSecret(p.cluster.Name))
	if err != nil {
		return steps.Stop, err
	}
	stored, err := credentials.Decode(internal)
	if err != nil {
		// What can be used is used, and the plan heals the rest.
		p.log.Error(err, "internal Secret is damaged", "secret", naming.InternalSecret(p.cluster.Name))
	}
	in := credentials.Input{Stored: stored, Random: r.Random, Everywhere: p.acceptedEverywhere(r)}
	if err := r.applicationSecret(ctx, p, &in); err != nil {
		return steps.Stop, err
	}
	if g := p.cluster.Spec.Auth.OldPasswordGracePeriod; g != nil {
		in.Grace = g.Duration
	}
	plan, err := credentials.Plan(r.Now(), in)
	if err != nil {
		return steps.Stop, fmt.Errorf("plan credentials: %w", err)
	}
	if err := r.storeCredentials(ctx, p, in, plan); err != nil {
		return steps.Stop, err
	}
	if plan.WakeAfter > 0 {
		alarm.Within(plan.WakeAfter, "retire the previous password")
	}
	p.users = users{accepted: plan.Accepted, replication: plan.Stored.Replication}
	if p.memory.given.uncached(in.SecretName) {
		// Nothing tells when it changes.
		look := givenSecretIdle
		if plan.Phase == credentials.PhaseSecretInvalid {
			look = givenSecretPeriod
		}
		alarm.Within(look, "look at the given Secret")
	}
	r.noteCredentials(p, in, plan)
	return steps.Continue, nil
}

// applicationSecret reads the Secret with the application's password.
func (r *Reconciler) applicationSecret(ctx context.Context, p *pass, in *credentials.Input) error {
	var err error
	if given := p.cluster.Spec.Auth.SecretName; given != "" {
		in.SecretName, in.Source = given, credentials.SourceGiven
		in.Secret, err = r.givenSecret(ctx, p, given)
		return err
	}
	in.SecretName, in.Source = naming.AuthSecret(p.cluster.Name), credentials.SourceGenerated
	in.Secret, err = r.ownSecret(ctx, p, in.SecretName)
	return err
}

func (r *Reconciler) storeCredentials(ctx context.Context, p *pass, in credentials.Input, plan credentials.Result) error {
	if plan.Changed {
		data, err := plan.Stored.Encode()
		if err != nil {
			return fmt.Errorf("encode internal Secret: %w", err)
		}
		if err := r.apply(ctx, p, resources.Secret(p.cluster, naming.InternalSecret(p.cluster.Name), data)); err != nil {
			return err
		}
	}
	if plan.Secret == "" {
		return nil
	}
	return r.apply(ctx, p, resources.AuthSecret(p.cluster, in.SecretName, plan.Secret))
}

func (r *Reconciler) noteCredentials(p *pass, in credentials.Input, plan credentials.Result) {
	for _, t := range plan.Transitions {
		if t == credentials.TransitionRetired {
			events.OldPasswordRetired.Emit(r.Recorder, p.cluster)
		}
	}
	switch plan.Phase {
	case credentials.PhaseSecretInvalid:
		p.problem(v1.ReasonSecretInvalid, "%s", plan.Message)
		if p.memory.once("secret", plan.Message) {
			events.SecretInvalid.Emit(r.Recorder, p.cluster, in.SecretName, plan.Message)
		}
	case credentials.PhaseSpreading:
		p.work(v1.ReasonConfiguring, plan.Message)
	case credentials.PhaseGrace:
		if p.memory.once("password", strings.Join(plan.Accepted, " ")) {
			events.PasswordChanged.Emit(r.Recorder, p.cluster, in.Grace)
		}
	case credentials.PhaseSettled:
	}
	if len(plan.Accepted) == 0 {
		p.unready = plan.Message
	}
}

// acceptedEverywhere are the passwords that all wanted members are known to accept. A member that is
// out of reach is not known to accept anything.
func (p *pass) acceptedEverywhere(r *Reconciler) []string {
	var members [][]string
	contacts := r.Fleet.Contacts(p.key())
	for _, pod := range p.pods {
		var accepted []string
		for _, c := range contacts {
			if f := observe.Facts(c.Record); c.PodUID == string(pod.UID) && c.Connected && f != nil {
				accepted = f.PasswordsAccepted
			}
		}
		members = append(members, accepted)
	}
	if len(members) < int(p.cluster.Spec.Replicas) {
		return nil
	}
	return credentials.Common(members)
}

// ownSecret reads a Secret of the operator. One that the cache does not show is looked for at the
// API server: a password or an authority must never be made anew because of a stale cache. One that
// belongs to somebody else is none, be it the cluster that had this name before; applying ours says so.
func (r *Reconciler) ownSecret(ctx context.Context, p *pass, name string) (map[string][]byte, error) {
	for _, reader := range []client.Reader{r.Client, r.Live} {
		secret := &corev1.Secret{}
		found, err := get(ctx, reader, p.named(name), secret)
		if err != nil {
			return nil, err
		}
		if found && metav1.IsControlledBy(secret, p.cluster) {
			return secret.Data, nil
		}
	}
	return nil, nil
}

// givenSecret reads a user's Secret: from the cache where it carries the cluster's label, else from
// the API server now and then.
func (r *Reconciler) givenSecret(ctx context.Context, p *pass, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	found, err := get(ctx, r.Client, p.named(name), secret)
	if err != nil {
		return nil, err
	}
	g := &p.memory.given
	if found {
		*g = givenSecret{}
		return secret.Data, nil
	}
	if now := r.Now(); g.name != name || now.Sub(g.readAt) >= givenSecretPeriod {
		if found, err = get(ctx, r.Live, p.named(name), secret); err != nil {
			return nil, err
		}
		*g = givenSecret{name: name, readAt: now}
		if found {
			g.data = secret.Data
		}
	}
	return g.data, nil
}

// givenSecret is a user's Secret that the cache does not hold, as it was read last.
type givenSecret struct {
	name   string
	data   map[string][]byte
	readAt time.Time
}

func (g *givenSecret) uncached(name string) bool { return g.name == name && name != "" }

func hashOf(password string) string { return credentials.Hash(password) }
