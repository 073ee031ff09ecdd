package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/pki"
)

const day = 24 * time.Hour

func TestASteadyClusterIsLeftAloneUntilItsCertificateIsDue(t *testing.T) {
	t.Parallel()
	m := steady(t)
	for _, after := range []time.Duration{0, time.Second, propagation, day, 59 * day} {
		r := plan(t, start.Add(after), input(m))
		if r.Changed || r.Reason != "" || !bytes.Equal(encode(r.Material.Agents), encode(m.Agents)) ||
			!bytes.Equal(encode(r.Material.Authority), encode(m.Authority)) {
			t.Errorf("after %s: changed, %q", after, r.Reason)
		}
		if due := start.Add(after).Add(r.WakeAfter); due.Before(start.Add(59*day)) || due.After(start.Add(61*day)) {
			t.Errorf("after %s: wakes at %s, want at two thirds of 90 days", after, due)
		}
	}
	r := plan(t, start.Add(60*day), input(m))
	if r.Reason != "the agents' certificate is renewed" || !bytes.Equal(r.Material.Agents[pki.KeyBundle], m.Agents[pki.KeyBundle]) {
		t.Errorf("on the 60th day: %q", r.Reason)
	}
	for _, agents := range []map[string][]byte{m.Agents, r.Material.Agents} {
		if err := managerReaches(start.Add(60*day), r.Material, agents); err != nil {
			t.Errorf("during the renewal: %v", err)
		}
	}
}

func TestAnAuthorityIsReplacedAYearBeforeItEnds(t *testing.T) {
	t.Parallel()
	m := steady(t)
	due := start.Add(pki.AuthorityLifetime - pki.AuthorityMargin)
	before := plan(t, due.Add(-time.Hour), input(m))
	if _, rotating := before.Material.Authority[pki.KeyNextKey]; rotating {
		t.Error("the authority is replaced before its time")
	}
	m = before.Material
	after := plan(t, due, input(m))
	if _, rotating := after.Material.Authority[pki.KeyNextKey]; !rotating {
		t.Errorf("the authority is not replaced: %q", after.Reason)
	}
}

func TestCertificatesSayWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	m := steady(t)
	authority := certificate(t, m.Authority[pki.KeyCurrentCertificate])
	if !authority.IsCA || !authority.MaxPathLenZero || authority.NotAfter.Sub(start) != pki.AuthorityLifetime {
		t.Errorf("authority: CA %t, path length zero %t, until %s", authority.IsCA, authority.MaxPathLenZero, authority.NotAfter)
	}
	leaf := certificate(t, m.Agents[pki.KeyLeafCertificate])
	if leaf.IsCA || leaf.Subject.CommonName != "holdfast-agent" || leaf.NotAfter.Sub(start) != pki.LeafLifetime {
		t.Errorf("leaf: CA %t, name %q, until %s", leaf.IsCA, leaf.Subject.CommonName, leaf.NotAfter)
	}
	if err := leaf.VerifyHostname(serverName); err != nil {
		t.Error(err)
	}
	if _, leaked := m.Agents[pki.KeyCurrentKey]; leaked {
		t.Error("the authority's key is in the Secret that pods mount")
	}
}

func certificate(t *testing.T, encoded []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(encoded)
	if block == nil {
		t.Fatal("no PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// damage is something that happened to the Secrets, and what of them must come out as it was.
type damage struct {
	do                        func(pki.Material)
	keepsAuthority, keepsLeaf bool
}

func TestABrokenSecretOfTheAgentsHeals(t *testing.T) {
	t.Parallel()
	other := steady(t)
	heals(t, map[string]damage{
		"the agents' Secret was never written": {
			do: func(m pki.Material) { clear(m.Agents) }, keepsAuthority: true,
		},
		"the agents' certificate is of one write and the key of another": {
			do: func(m pki.Material) { m.Agents[pki.KeyLeafKey] = other.Agents[pki.KeyLeafKey] }, keepsAuthority: true,
		},
		"the agents' certificate is cut off": {
			do: func(m pki.Material) {
				m.Agents[pki.KeyLeafCertificate] = m.Agents[pki.KeyLeafCertificate][:99]
			}, keepsAuthority: true,
		},
		"the agents' certificate is a foreign cluster's": {
			do: func(m pki.Material) {
				m.Agents[pki.KeyLeafCertificate] = other.Agents[pki.KeyLeafCertificate]
				m.Agents[pki.KeyLeafKey] = other.Agents[pki.KeyLeafKey]
			}, keepsAuthority: true,
		},
		"the bundle is empty": {
			do: func(m pki.Material) { delete(m.Agents, pki.KeyBundle) }, keepsAuthority: true, keepsLeaf: true,
		},
		"the bundle has somebody else's authority in it": {
			do: func(m pki.Material) {
				m.Agents[pki.KeyBundle] = bytes.Join([][]byte{m.Agents[pki.KeyBundle], other.Agents[pki.KeyBundle]}, nil)
			}, keepsAuthority: true, keepsLeaf: true,
		},
		"the times of publication are no JSON": {
			do: func(m pki.Material) { m.Agents[pki.KeyPublished] = []byte("{") }, keepsAuthority: true, keepsLeaf: true,
		},
	})
}

func TestABrokenSecretOfTheAuthorityHeals(t *testing.T) {
	t.Parallel()
	other := steady(t)
	heals(t, map[string]damage{
		"the authority's Secret was deleted": {
			do: func(m pki.Material) { clear(m.Authority) }, keepsLeaf: true,
		},
		"the authority's key is lost": {
			do: func(m pki.Material) { delete(m.Authority, pki.KeyCurrentKey) }, keepsLeaf: true,
		},
		"the authority's key is another's": {
			do: func(m pki.Material) { m.Authority[pki.KeyCurrentKey] = other.Authority[pki.KeyCurrentKey] }, keepsLeaf: true,
		},
		"the authority's key is garbage": {
			do: func(m pki.Material) { m.Authority[pki.KeyCurrentKey] = []byte("garbage") }, keepsLeaf: true,
		},
		"the authority is replaced by a plain certificate": {
			do: func(m pki.Material) {
				m.Authority[pki.KeyCurrentCertificate] = m.Agents[pki.KeyLeafCertificate]
				m.Authority[pki.KeyCurrentKey] = m.Agents[pki.KeyLeafKey]
			}, keepsLeaf: true,
		},
		"everything is garbage": {
			do: func(m pki.Material) {
				for _, data := range []map[string][]byte{m.Authority, m.Agents} {
					for key := range data {
						data[key] = []byte("garbage")
					}
				}
			},
		},
		"half a next authority": {
			do: func(m pki.Material) { m.Authority[pki.KeyNextCertificate] = []byte("garbage") }, keepsAuthority: true, keepsLeaf: true,
		},
		"a previous authority that cannot be read": {
			do: func(m pki.Material) { m.Authority[pki.KeyPreviousCertificate] = []byte("garbage") }, keepsAuthority: true, keepsLeaf: true,
		},
	})
}

// Whatever is broken, the next plan mends it, the one after it changes nothing, and manager and
// agents connect. An authority that can still sign is never replaced at once.
func heals(t *testing.T, cases map[string]damage) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := steady(t)
			broken := clone(whole)
			c.do(broken)
			now := start.Add(time.Hour)
			r := plan(t, now, input(broken))
			if !r.Changed {
				t.Error("nothing was mended")
			}
			if again := plan(t, now, input(r.Material)); again.Changed {
				t.Errorf("the plan is not stable: %s", again.Reason)
			}
			if err := managerReaches(now, r.Material, r.Material.Agents); err != nil {
				t.Errorf("after mending: %v", err)
			}
			kept := bytes.Equal(whole.Authority[pki.KeyCurrentKey], r.Material.Authority[pki.KeyCurrentKey])
			if kept != c.keepsAuthority {
				t.Errorf("authority kept: %t, want %t", kept, c.keepsAuthority)
			}
			kept = bytes.Equal(whole.Agents[pki.KeyLeafKey], r.Material.Agents[pki.KeyLeafKey]) &&
				bytes.Equal(whole.Agents[pki.KeyLeafCertificate], r.Material.Agents[pki.KeyLeafCertificate])
			if kept != c.keepsLeaf {
				t.Errorf("the agents' certificate kept: %t, want %t", kept, c.keepsLeaf)
			}
		})
	}
}

// A lost key is the one case without a full overlap: agents that have not reread their Secret do not
// know the new authority. They must still be known to those that have, and to each other.
func TestALostAuthorityIsReplacedWithoutPartingTheAgents(t *testing.T) {
	t.Parallel()
	before := steady(t)
	lost := clone(before)
	lost.Authority = nil
	now := start.Add(time.Hour)
	r := plan(t, now, input(lost))
	if err := peersReach(now, before.Agents, r.Material.Agents); err != nil {
		t.Errorf("an agent with the old Secret calls one with the new: %v", err)
	}
	if err := peersReach(now, r.Material.Agents, before.Agents); err != nil {
		t.Errorf("an agent with the new Secret calls one with the old: %v", err)
	}
	for range 2 {
		now = now.Add(r.WakeAfter)
		r = plan(t, now, input(r.Material))
	}
	if _, old := r.Material.Authority[pki.KeyPreviousCertificate]; old {
		t.Errorf("the lost authority is still trusted: %q", r.Reason)
	}
	if err := managerReaches(now, r.Material, r.Material.Agents); err != nil {
		t.Errorf("at the end: %v", err)
	}
	if managerReaches(now, r.Material, before.Agents) == nil {
		t.Error("an agent of the lost authority is still accepted at the end")
	}
}

func TestTheClientNeverGoesWithoutTLS(t *testing.T) {
	t.Parallel()
	good, other := steady(t), steady(t)
	cases := map[string]func(pki.Material){
		"no Secret":              func(m pki.Material) { clear(m.Authority) },
		"no key":                 func(m pki.Material) { delete(m.Authority, pki.KeyCurrentKey) },
		"garbage":                func(m pki.Material) { m.Authority[pki.KeyCurrentCertificate] = []byte("garbage") },
		"the key of another one": func(m pki.Material) { m.Authority[pki.KeyCurrentKey] = other.Authority[pki.KeyCurrentKey] },
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := clone(good)
			damage(m)
			if client, err := pki.NewClientTLS(m, serverName); err == nil || client != nil {
				t.Errorf("got a client, error %v", err)
			}
		})
	}
}

func TestThoseWhoDoNotBelongAreRefused(t *testing.T) {
	t.Parallel()
	m, other := steady(t), steady(t)
	now := start.Add(time.Hour)
	manager, err := managerConfig(now, m)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := agentServer(now, m.Agents)
	if err != nil {
		t.Fatal(err)
	}
	foreignManager, err := managerConfig(now, other)
	if err != nil {
		t.Fatal(err)
	}
	foreignAgent, err := agentServer(now, other.Agents)
	if err != nil {
		t.Fatal(err)
	}
	bare := manager.Clone()
	bare.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil }
	elsewhere := manager.Clone()
	elsewhere.ServerName = "shop.staging.agents.holdfast"
	impostor := agent.Clone()
	shown, err := manager.GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	impostor.Certificates = []tls.Certificate{*shown}

	misnamed := agent.Clone()
	misnamed.Certificates = []tls.Certificate{signedAs(t, m, "somebody")}

	cases := map[string]struct{ client, server *tls.Config }{
		"an agent that is not called one":           {manager, misnamed},
		"the manager of a foreign cluster":          {foreignManager, agent},
		"an agent of a foreign cluster":             {manager, foreignAgent},
		"a client without a certificate":            {bare, agent},
		"an agent of another name":                  {elsewhere, agent},
		"a manager's certificate used by an agent":  {manager, impostor},
		"a certificate whose time is over":          {manager, at(now.Add(91*day), agent)},
		"a manager's certificate on the second day": {at(now.Add(25*time.Hour), manager), at(now.Add(25*time.Hour), agent)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := handshake(c.client, c.server); err == nil {
				t.Error("the connection was accepted")
			}
		})
	}
	if _, err := handshake(manager, agent); err != nil {
		t.Errorf("those who belong: %v", err)
	}
}

// signedAs is a certificate of the cluster's authority that is an agent's in all but its name.
func signedAs(t *testing.T, m pki.Material, name string) tls.Certificate {
	t.Helper()
	authority, err := tls.X509KeyPair(m.Authority[pki.KeyCurrentCertificate], m.Authority[pki.KeyCurrentKey])
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := certificate(t, m.Agents[pki.KeyLeafCertificate])
	template.RawSubject, template.Subject.CommonName = nil, name
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTheManagersCertificateIsRenewedInTime(t *testing.T) {
	t.Parallel()
	client, err := pki.NewClientTLS(steady(t), serverName)
	if err != nil {
		t.Fatal(err)
	}
	config := func(after time.Duration) *tls.Config {
		c, err := client.Config(start.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := config(0)
	if config(15*time.Hour) != first {
		t.Error("the certificate is made anew before its time")
	}
	if config(16*time.Hour) == first {
		t.Error("the certificate is not renewed after two thirds of its day")
	}
}

func FuzzPlan(f *testing.F) {
	m, err := pki.Plan(start, input(pki.Material{}))
	if err != nil {
		f.Fatal(err)
	}
	good := m.Material
	f.Add(good.Authority[pki.KeyCurrentCertificate], good.Authority[pki.KeyCurrentKey], good.Agents[pki.KeyBundle], []byte(`{"a":"2026-03-01T12:00:00Z"}`))
	f.Add(good.Agents[pki.KeyLeafCertificate], good.Agents[pki.KeyLeafKey], []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("null"))
	f.Fuzz(func(t *testing.T, certificate, key, bundle, times []byte) {
		broken := pki.Material{
			Authority: map[string][]byte{pki.KeyCurrentCertificate: certificate, pki.KeyCurrentKey: key, pki.KeyNextCertificate: bundle, pki.KeyPreviousCertificate: certificate},
			Agents:    map[string][]byte{pki.KeyBundle: bundle, pki.KeyLeafCertificate: certificate, pki.KeyLeafKey: key, pki.KeyPublished: times},
		}
		now := start.Add(time.Hour)
		r := plan(t, now, input(broken))
		if _, err := pki.NewClientTLS(r.Material, serverName); err != nil {
			t.Fatalf("the plan is of no use: %v", err)
		}
		if again := plan(t, now, input(r.Material)); again.Changed {
			t.Fatalf("the plan is not stable: %s", again.Reason)
		}
	})
}
