package topology

import (
	"slices"
	"strings"
)

// position is how far a member's data reaches.
type position struct {
	member *Member
	// continuous: the data was never out of this server's memory since it was in step. After a
	// restart from disk, what the agent stored beside the data stands in for it.
	continuous bool
	epoch      int64
	wasPrimary bool
	lineages   []string
	offset     int64
	// known: the offset is the server's own word, not the agent's note from before the restart. A
	// note is at most a second older than what the data reaches, never younger.
	known bool
	// empty: it has no data that counts.
	empty bool
	// lost: it is empty, and nothing says that it ever had been so before.
	lost bool
}

func (p position) keys() int64 { return p.member.Agent.Facts.Keys }

func positionOf(m *Member) position {
	f := m.Agent.Facts
	p := position{member: m, offset: f.Offset, lineages: nonEmpty(f.ReplID, f.ReplID2), known: f.Offset > 0}
	if f.Stored == nil {
		p.continuous = f.Offset > 0
		p.empty = f.Keys == 0 && f.Offset == 0
		p.lost = p.empty
		return p
	}
	p.epoch, p.wasPrimary = f.Stored.Epoch, f.Stored.WasPrimary
	stored := nonEmpty(f.Stored.ReplID)
	if f.Offset == 0 || madeUp(m) {
		// Loaded from a file that does not say whose history it is, or how far it goes: the agent's note
		// stands in for that.
		p.offset, p.lineages, p.known = f.Stored.Offset, stored, false
		// A note that speaks of keys where there are none: the volume kept the note and lost the data.
		p.lost = f.Keys == 0 && f.Stored.Keys > 0
		p.empty = f.Keys == 0 && (p.lost || f.Stored.Offset == 0)
		return p
	}
	movedOn := !shareLineage(p.lineages, stored)
	p.continuous = movedOn || f.Offset >= f.Stored.Offset
	return p
}

// madeUp says whether the replication ID is one that the server gave itself at its start: an append-only
// file may bring back the offset, and never the ID.
func madeUp(m *Member) bool {
	f := m.Agent.Facts
	return f.Unjoined && f.Stored != nil && f.Stored.ReplID != "" && f.ReplID != f.Stored.ReplID
}

func nonEmpty(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" || strings.Trim(id, "0") == "" })
}

func shareLineage(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}

// carries says whether the member's data continues the history of the stored primary. One that was
// never in step with it may lack what was confirmed before.
func (s *State) carries(m *Member) bool {
	return s.Intent.ReplID == "" || slices.Contains(positionOf(m).lineages, s.Intent.ReplID)
}

// reach is how far the position goes in the history of the stored primary. What a member added after
// a promotion of its own, which nobody else took part in, is not counted.
func (s *State) reach(p position) int64 {
	f := p.member.Agent.Facts
	if p.known && f.ReplID != s.Intent.ReplID && f.ReplID2 == s.Intent.ReplID && f.SecondOffset > 0 {
		return min(p.offset, f.SecondOffset)
	}
	return p.offset
}

// intact says whether the former primary still has all that it ever had: it was never restarted, or
// has read back everything that the agent knows of.
func (s *State) intact(m *Member) bool {
	p := positionOf(m)
	if p.lost || !p.known {
		return !p.lost
	}
	stored := m.Agent.Facts.Stored
	// A file from before its promotion is of another lineage than the note, too, and is no progress.
	older := stored != nil && stored.ReplID == s.Intent.ReplID && !s.carries(m)
	return p.continuous && !older
}
