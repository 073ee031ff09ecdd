package redissim

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/credentials"
)

// replicate moves the link to the primary on, and takes over what the primary has.
func (a *agent) replicate() {
	if !a.running() || a.server.isPrimary || a.server.following == "" {
		return
	}
	s, now := a.server, a.w.now
	primary := a.w.at(s.following)
	if primary == nil || !primary.running() || !primary.server.isPrimary || !lets(primary.server, s) {
		if s.link != linkDown {
			s.link, s.downAt = linkDown, now
		}
		return
	}
	p := primary.server
	if s.link != linkDown && s.linked != p.runID {
		s.link, s.downAt = linkDown, now
	}
	switch {
	case s.handshake:
		s.handshake = false
	case s.link == linkDown:
		a.synchronise(p, now)
	case s.link == linkSyncing && now.Sub(s.linkedAt) >= syncTime:
		a.copied(p)
	case s.link == linkUp:
		s.catchUp(p, a.disk)
	}
}

// lets says whether the primary accepts the replica's password.
func lets(p, replica *server) bool {
	return slices.Contains(p.replicationHash, credentials.Hash(replica.password))
}

// synchronise is PSYNC: the primary goes on from the replica's offset if it is of its history.
func (a *agent) synchronise(p *server, now time.Time) {
	s := a.server
	if p.offset == 0 {
		// The backlog that begins with the first replica counts from 1.
		p.offset = 1
	}
	s.linked, s.linkedAt = p.runID, now
	same := s.replID == p.replID && s.offset <= p.offset
	before := s.replID == p.replID2 && s.offset < p.second
	if s.offset > 0 && s.joined && (same || before) {
		p.syncPartial++
		if s.replID != p.replID {
			s.replID2, s.second, s.replID = s.replID, s.offset+1, p.replID
		}
		s.link = linkUp
		s.catchUp(p, a.disk)
		return
	}
	p.syncFull++
	s.link = linkSyncing
}

// copied ends a full synchronisation: the replica's own data is replaced.
func (a *agent) copied(p *server) {
	s := a.server
	s.log, s.offset = p.log, p.offset
	s.replID, s.replID2, s.second = p.replID, "", -1
	s.link, s.joined = linkUp, true
	a.disk.log, a.disk.fileOffset = s.log, s.offset
}

// replicas of a primary: the agents whose servers have a link to it.
func (a *agent) replicas() []*agent {
	var out []*agent
	if !a.running() || !a.server.isPrimary {
		return nil
	}
	for _, o := range a.w.inOrder() {
		if o.running() && o.server.following == a.ip && o.server.linked == a.server.runID && o.server.link != linkDown {
			out = append(out, o)
		}
	}
	return out
}

// online are the replicas that are in step.
func (a *agent) online() []*agent {
	return slices.DeleteFunc(a.replicas(), func(o *agent) bool { return o.server.link != linkUp })
}
