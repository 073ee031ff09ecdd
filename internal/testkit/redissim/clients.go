package redissim

import (
	"maps"
	"slices"
)

// clients send a write to every server that calls itself primary, whether it is routed to or not,
// in every step, and wait for one replica to confirm it. That is the worst that clients can do: one that stays
// connected to a primary of yesterday is among them.
type clients struct {
	nextID int
	// open are writes that nobody has confirmed yet, by the run of the server that took them.
	open map[string][]int
	// confirmed are the writes that must never be lost, in order.
	confirmed []int
}

func newClients() clients { return clients{open: map[string][]int{}} }

func (c *clients) copy() clients {
	return clients{nextID: c.nextID, open: maps.Clone(c.open), confirmed: slices.Clip(c.confirmed)}
}

// write appends one write to each server that takes it.
func (c *clients) write(w *World) {
	for _, a := range w.inOrder() {
		if !a.takesWrites() {
			continue
		}
		c.nextID++
		a.server.append(c.nextID, a.disk)
		open := c.open[a.server.runID]
		c.open[a.server.runID] = append(open[:len(open):len(open)], c.nextID)
	}
}

// confirm counts the writes that a replica in step has.
func (c *clients) confirm(w *World) {
	for _, a := range w.inOrder() {
		open := []int{}
		if !a.canConfirm() {
			continue
		}
		for _, id := range c.open[a.server.runID] {
			if slices.ContainsFunc(a.online(), func(o *agent) bool { return slices.Contains(o.server.log, id) }) {
				c.confirmed = append(c.confirmed, id)
			} else {
				open = append(open, id)
			}
		}
		c.open[a.server.runID] = open
	}
}

// takesWrites says whether a client's write would be accepted.
func (a *agent) takesWrites() bool {
	return a.running() && a.server.isPrimary && !a.fenced && len(a.online()) >= a.server.minReplicas()
}

// canConfirm says whether a client could get a write confirmed by a replica.
func (a *agent) canConfirm() bool { return a.takesWrites() && len(a.online()) > 0 }
