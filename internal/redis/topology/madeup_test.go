package topology

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// Seen on a real Redis 8: a replica that reads back an append-only file has the offset of its history and
// a replication ID of its own making, so that three volumes of one cluster looked like three origins.
func TestAnAppendOnlyFileBringsBackAnOffsetWithoutItsHistory(t *testing.T) {
	t.Parallel()
	note := func(primary bool) *facts.Stored {
		return &facts.Stored{Cluster: "old", Epoch: 2, WasPrimary: primary, ReplID: "8b43", Offset: 3612, Keys: 7}
	}
	members := []Member{
		restarted("a-0", 0, facts.Facts{ReplID: "0c64", Offset: 3612, Keys: 7, Unjoined: true, Stored: note(false)}),
		restarted("a-1", 1, facts.Facts{ReplID: "67af", Offset: 0, Keys: 7, Unjoined: true, Stored: note(true)}),
	}
	s := State{Want: Want{Replicas: 2, Detection: 3e9}, Members: members}
	e := s.elect(&Transition{Kind: Bootstrap, Epoch: 1})
	if e.divergent != "" {
		t.Fatalf("refused: %s", e.divergent)
	}
	if e.winner == nil || e.winner.Name != "a-1" {
		t.Errorf("elected %v, want a-1, which was primary when the note was written", e.winner)
	}
}

func restarted(name string, ordinal int, f facts.Facts) Member {
	return Member{
		Name: name, Ordinal: ordinal, Pod: Pod{Exists: true, UID: name}, Link: Link{Connected: true},
		Agent: &Agent{Epoch: 1, Phase: Running, Facts: f},
	}
}
