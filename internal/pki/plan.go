package pki

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	// AuthorityLifetime is how long an authority is valid; it is replaced AuthorityMargin before.
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	AuthorityMargin   = 365 * 24 * time.Hour
	// LeafLifetime is how long the agents' certificate is valid; it is renewed after two thirds.
	LeafLifetime = 90 * 24 * time.Hour
	// DefaultPropagation is how long a changed Secret may take to reach every pod.
	DefaultPropagation = 5 * time.Minute
)

// Input of Plan.
type Input struct {
	// Material as stored.
	Material Material
	// Name of the cluster, for the subject of its authority.
	Name string
	// ServerName that the agents' certificate is for.
	ServerName string
	// Rotation asks for a new authority when it differs from the last request that was taken up.
	Rotation string
	// Propagation is how long to wait until a changed Secret has reached every pod.
	Propagation time.Duration
}

// Result of Plan.
type Result struct {
	// Material to store: the authority's Secret first, the agents' after it. A crash between the
	// two is healed by the next plan.
	Material Material
	// Changed: Material differs from the input's.
	Changed bool
	// WakeAfter is when the next step is due.
	WakeAfter time.Duration
	// Reason says what changed, for people; empty if nothing did.
	Reason string
}

// Plan says what a cluster's two Secrets shall hold. An authority is replaced in stages, each of
// which lasts until it has reached every pod:
//
//	steady      agents trust A        and show a certificate of A
//	publishing  agents trust A and B  and show a certificate of A
//	retiring    agents trust A and B  and show a certificate of B
//	steady      agents trust B        and show a certificate of B
//
// The manager trusts all that are in a Secret, and shows each agent a certificate of an authority
// that this agent trusts. So any two neighbours in the table understand each other. The stage is
// not stored anywhere: it follows from what the Secrets hold.
func Plan(now time.Time, in Input) (Result, error) {
	p := load(now, in)
	steps := []func() error{
		p.haveAuthority, p.startRotation, p.promote, p.haveLeaf, p.retire,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Result{}, err
		}
	}
	m, err := p.material()
	if err != nil {
		return Result{}, err
	}
	return Result{
		Material:  m,
		Changed:   !m.equal(in.Material),
		WakeAfter: p.wakeAfter(),
		Reason:    strings.Join(p.reasons, "; "),
	}, nil
}

// planner holds what the Secrets say, and then what they shall say.
type planner struct {
	now time.Time
	in  Input

	current, next, previous *parsed
	// stored are the authorities that the agents' bundle holds now.
	stored []*parsed
	since  published
	leaf   *parsed
	// brokenNext: a rotation was under way and its authority cannot be read.
	brokenNext bool
	rotation   string
	reasons    []string
}

func load(now time.Time, in Input) *planner {
	authority, agents := in.Material.Authority, in.Material.Agents
	p := &planner{now: now, in: in, rotation: string(authority[KeyRotation])}
	p.current = p.signer(Pair{authority[KeyCurrentCertificate], authority[KeyCurrentKey]})
	p.next = p.signer(Pair{authority[KeyNextCertificate], authority[KeyNextKey]})
	p.brokenNext = p.next == nil && len(authority[KeyNextCertificate])+len(authority[KeyNextKey]) > 0
	p.previous = p.trusted(Pair{authority[KeyPreviousCertificate], authority[KeyPreviousKey]})
	p.stored = parseBundle(agents[KeyBundle])
	p.since = decodePublished(agents[KeyPublished])
	p.leaf = p.usableLeaf(Pair{agents[KeyLeafCertificate], agents[KeyLeafKey]})
	return p
}

func (p *planner) because(format string, args ...any) {
	p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
}

// trusted reads an authority that need not sign, without its key if that is broken.
func (p *planner) trusted(pair Pair) *parsed {
	a, err := parse(pair)
	if err != nil {
		a, err = parse(Pair{Certificate: pair.Certificate})
	}
	if err != nil || !a.certificate.IsCA || !p.now.Before(a.certificate.NotAfter) {
		return nil
	}
	return a
}

func (p *planner) signer(pair Pair) *parsed {
	if a := p.trusted(pair); a != nil && a.key != nil {
		return a
	}
	return nil
}

func (p *planner) usableLeaf(pair Pair) *parsed {
	l, err := parse(pair)
	if err != nil || l.key == nil || l.certificate.VerifyHostname(p.in.ServerName) != nil {
		return nil
	}
	if l.certificate.Subject.CommonName != wire.CommonNameAgent || !p.now.Before(l.certificate.NotAfter) {
		return nil
	}
	return l
}

// haveAuthority makes sure that there is one that can sign. If the key of the old one is lost, its
// certificate is recovered from the agents' bundle, so that they stay trusted until they have changed.
func (p *planner) haveAuthority() error {
	if p.current != nil {
		return nil
	}
	for _, a := range p.stored {
		if p.leaf != nil && signedBy(p.leaf, a) && p.next.differs(a) {
			p.previous = a
		}
	}
	if p.next != nil {
		p.current, p.next = p.next, nil
		p.because("the signing authority is unusable and the next one takes its place")
		return nil
	}
	made, err := newAuthority(p.now, p.in.Name)
	if err != nil {
		return err
	}
	p.current, p.brokenNext, p.rotation = made, false, p.in.Rotation
	if p.in.Material.Authority == nil && p.in.Material.Agents == nil {
		p.because("the cluster's authority is made")
	} else {
		p.because("the signing authority is unusable and a new one is made")
	}
	return nil
}

func (p *planner) startRotation() error {
	if p.next != nil || p.previous != nil {
		return nil
	}
	requested := p.in.Rotation != "" && p.in.Rotation != p.rotation
	due := !p.now.Before(p.rotationDue())
	if !requested && !due && !p.brokenNext {
		return nil
	}
	made, err := newAuthority(p.now, p.in.Name)
	if err != nil {
		return err
	}
	p.next, p.rotation = made, p.in.Rotation
	p.because("a new authority is made known to the agents")
	return nil
}

// promote lets the next authority sign once every agent trusts it.
func (p *planner) promote() error {
	if p.next == nil || !p.propagated(p.next) {
		return nil
	}
	p.previous, p.current, p.next = p.current, p.next, nil
	p.because("the new authority signs from now on")
	return nil
}

// haveLeaf makes sure that the agents show a certificate of the current authority as soon as every
// agent trusts that one, and a usable one at any time.
func (p *planner) haveLeaf() error {
	known := false
	for _, a := range p.authorities() {
		known = known || signedBy(p.leaf, a)
	}
	switch {
	case !known:
		p.because("the agents get a certificate")
	case !signedBy(p.leaf, p.current):
		if !p.propagated(p.current) {
			return nil
		}
		p.because("the agents get a certificate of the new authority")
	case p.now.Before(p.leafDue()):
		return nil
	default:
		p.because("the agents' certificate is renewed")
	}
	issued, err := issue(p.now, p.current, leaf{
		commonName: wire.CommonNameAgent,
		dnsNames:   []string{p.in.ServerName},
		usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		lifetime:   LeafLifetime,
	})
	if err != nil {
		return err
	}
	p.leaf = issued
	return nil
}

// retire ends the trust in the previous authority once no agent shows a certificate of it.
func (p *planner) retire() error {
	if p.previous == nil || !signedBy(p.leaf, p.current) || p.now.Before(p.retireDue()) {
		return nil
	}
	p.previous = nil
	p.because("the old authority is no longer trusted")
	return nil
}

// authorities that are trusted, in whatever stage.
func (p *planner) authorities() []*parsed {
	var all []*parsed
	for _, a := range []*parsed{p.current, p.next, p.previous} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// sinceOf is since when the agents' bundle holds an authority: now, if it is not there yet or
// nobody knows.
func (p *planner) sinceOf(a *parsed) time.Time {
	for _, stored := range p.stored {
		if since := p.since[a.fingerprint()]; !stored.differs(a) && !since.IsZero() && since.Before(p.now) {
			return since
		}
	}
	return p.now.UTC().Truncate(time.Second)
}

func (p *planner) propagated(a *parsed) bool {
	return p.now.Sub(p.sinceOf(a)) >= p.in.Propagation
}

func (p *planner) rotationDue() time.Time {
	return p.current.certificate.NotAfter.Add(-AuthorityMargin)
}

func (p *planner) leafDue() time.Time {
	c := p.leaf.certificate
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

func (p *planner) retireDue() time.Time {
	return p.leaf.certificate.NotBefore.Add(backdate + p.in.Propagation)
}

// wakeAfter is the time to the earliest step that waits.
func (p *planner) wakeAfter() time.Duration {
	next := p.leafDue()
	earlier := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	switch {
	case p.next != nil:
		earlier(p.sinceOf(p.next).Add(p.in.Propagation))
	case p.previous == nil:
		earlier(p.rotationDue())
	case signedBy(p.leaf, p.current):
		earlier(p.retireDue())
	}
	if !signedBy(p.leaf, p.current) {
		earlier(p.sinceOf(p.current).Add(p.in.Propagation))
	}
	return max(0, next.Sub(p.now))
}

// material writes down the plan. What did not change comes out byte for byte as it went in.
func (p *planner) material() (Material, error) {
	m := Material{Authority: map[string][]byte{}, Agents: map[string][]byte{}}
	put(m.Authority, KeyCurrentCertificate, p.current.pair.Certificate)
	put(m.Authority, KeyCurrentKey, p.current.pair.Key)
	if p.next != nil {
		put(m.Authority, KeyNextCertificate, p.next.pair.Certificate)
		put(m.Authority, KeyNextKey, p.next.pair.Key)
	}
	if p.previous != nil {
		put(m.Authority, KeyPreviousCertificate, p.previous.pair.Certificate)
		put(m.Authority, KeyPreviousKey, p.previous.pair.Key)
	}
	put(m.Authority, KeyRotation, []byte(p.rotation))

	since := published{}
	for _, a := range p.authorities() {
		since[a.fingerprint()] = p.sinceOf(a).UTC()
	}
	encoded, err := since.encode()
	if err != nil {
		return Material{}, fmt.Errorf("encode times of publication: %w", err)
	}
	put(m.Agents, KeyBundle, encodeBundle(p.authorities()))
	put(m.Agents, KeyLeafCertificate, p.leaf.pair.Certificate)
	put(m.Agents, KeyLeafKey, p.leaf.pair.Key)
	put(m.Agents, KeyPublished, encoded)
	return m, nil
}

// differs says whether two certificates are not the same; nothing is nothing else.
func (p *parsed) differs(o *parsed) bool {
	return p == nil || o == nil || !p.certificate.Equal(o.certificate)
}

func signedBy(l, authority *parsed) bool {
	return l != nil && authority != nil && l.certificate.CheckSignatureFrom(authority.certificate) == nil
}
