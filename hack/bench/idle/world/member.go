package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	mathrand "math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	// linkTime is how long a replica takes to link to its primary.
	linkTime = 50 * time.Millisecond
	// pingBytes is what a primary sends to idle replicas each second.
	pingBytes = 14
)

// cluster is a RedisCluster and its simulated members.
type cluster struct {
	namespace, name, uid string

	mu      sync.Mutex // guards the members' state; it is taken with an agent's own lock held, never the other way
	members []*member
}

// member is a server without data, and its agent.
type member struct {
	cluster              *cluster
	pod, podUID, address string
	runID                string
	agent                *fakeagent.Agent

	epoch, epochSince int64
	primary           bool
	primarySince      time.Time
	replID            string
	following         string
	linked            bool
	joined            bool
	peers             []string
	passwords         []string
}

func (c *cluster) join(pod *corev1.Pod) *member {
	m := &member{
		cluster: c, pod: pod.Name, podUID: string(pod.UID), address: pod.Status.PodIP,
		runID: randomID(), replID: randomID(), epochSince: time.Now().UnixMilli(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
	return m
}

func randomID() string {
	id := make([]byte, 20)
	// It never fails.
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

// assigned takes the role and the wishes of an assignment.
func (m *member) assigned(order wire.Assignment, r *wire.Record) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	var wishes facts.Wishes
	if err := json.Unmarshal(order.Engine, &wishes); err != nil {
		r.AssignmentError = err.Error()
		return
	}
	for _, u := range wishes.Users {
		if u.Name == naming.UserDefault {
			m.passwords = u.PasswordHashes
		}
	}
	m.peers = m.peers[:0]
	for _, p := range order.Peers {
		m.peers = append(m.peers, p.Pod)
	}
	if order.Epoch != m.epoch {
		m.epoch, m.epochSince = order.Epoch, time.Now().UnixMilli()
	}
	switch order.Role {
	case wire.RolePrimary:
		if !m.primary {
			m.primary, m.joined, m.primarySince, m.replID = true, true, time.Now(), randomID()
		}
		m.following, m.linked = "", false
	case wire.RoleReplica:
		if m.following != order.Primary.Host {
			m.primary, m.linked, m.following = false, false, order.Primary.Host
			time.AfterFunc(linkTime, m.link)
		}
	case wire.RoleHeld:
		m.primary, m.linked, m.following = false, false, ""
	}
}

// link ends the handshake of a replica with its primary; both agents notice.
func (m *member) link() {
	p := m.linkUp()
	if p == nil {
		return
	}
	for _, a := range []*fakeagent.Agent{m.agent, p.agent} {
		a.Change(func(*wire.Record) {})
	}
}

func (m *member) linkUp() *member {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	p := m.upstream()
	if p == nil || m.linked {
		return nil
	}
	m.linked, m.joined, m.replID = true, true, p.replID
	return p
}

// upstream is the primary that the member was told to follow.
func (m *member) upstream() *member {
	for _, o := range m.cluster.members {
		if o.primary && o.address == m.following {
			return o
		}
	}
	return nil
}

// refresh says what is true of the member at this moment.
func (m *member) refresh(r *wire.Record) {
	if r.Server.Phase == wire.ServerWaiting {
		return
	}
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	r.EpochMillis = time.Now().UnixMilli() - m.epochSince
	r.Peers = make(map[string]wire.PeerHeard, len(m.peers))
	for _, name := range m.peers {
		interval := wire.HeartbeatInterval.Milliseconds()
		r.Peers[name] = wire.PeerHeard{AnsweredMillis: mathrand.Int64N(interval), CalledMillis: mathrand.Int64N(interval)}
	}
	// Facts are plain data, which can always be encoded.
	r.Engine, _ = json.Marshal(m.facts())
}

// offset of a server: an idle primary moves it by a ping a second.
func (m *member) offset() int64 {
	p := m
	if !m.primary {
		p = m.upstream()
	}
	if p == nil || !m.joined {
		return 0
	}
	return pingBytes * int64(time.Since(p.primarySince).Seconds())
}

func (m *member) facts() facts.Facts {
	f := facts.Facts{
		Version: "8.0.6", RunID: m.runID, IsPrimary: m.primary, ReplID: m.replID, SecondOffset: -1, Offset: m.offset(),
		Unjoined: !m.joined, LastIOMillis: -1, FailoverState: "no-failover",
		UsedMemory: 1_400_000 + mathrand.Int64N(100_000), PasswordsAccepted: m.passwords,
	}
	if m.following != "" {
		f.Following = net.JoinHostPort(m.following, strconv.Itoa(int(naming.RedisPort)))
		f.LinkUp = m.linked
	}
	if m.linked {
		f.LastIOMillis = mathrand.Int64N(time.Second.Milliseconds())
	}
	if !m.primary {
		return f
	}
	for _, o := range m.cluster.members {
		if o.linked && o.following == m.address {
			f.Replicas = append(f.Replicas, facts.ReplicaLink{Host: o.address, Online: true, Offset: o.offset(), LagSeconds: mathrand.Int64N(2)})
			f.SyncFull++
		}
	}
	return f
}
