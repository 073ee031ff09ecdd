package check

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// Data is what one member holds, by key.
type Data struct {
	Sets  map[string][]uint64
	Lists map[string][]uint64
}

// Input of a judgement.
type Input struct {
	Events []history.Event
	// Primary is the member whose data counts as the final read.
	Primary string
	// Members are the final reads, each taken directly from the member.
	Members map[string]Data
}

// Finding is one violation.
type Finding struct {
	Key    string
	ID     uint64
	Detail string
}

// String is the finding for people.
func (f Finding) String() string {
	if f.ID == 0 {
		return fmt.Sprintf("%s: %s", f.Key, f.Detail)
	}
	return fmt.Sprintf("%s, value %d: %s", f.Key, f.ID, f.Detail)
}

// Report is the verdict on a history. All findings are violations; LostUnconfirmed is not: the
// engine replicates asynchronously, and a write that no replica confirmed may go with its primary.
type Report struct {
	Counts          history.Counts
	LostUnconfirmed int

	// Lost: confirmed by a replica and missing at the end.
	Lost []Finding
	// Resurrected: certainly refused, and there at the end.
	Resurrected []Finding
	// Unexplained: there at the end, and nobody wrote it.
	Unexplained []Finding
	// Duplicated: a list holds a value twice.
	Duplicated []Finding
	// Forked: two confirmed reads of a list of which neither continues the other.
	Forked []Finding
	// Diverged: members differ.
	Diverged []Finding
}

// Run judges a history.
func Run(in Input) (Report, error) {
	final, ok := in.Members[in.Primary]
	if !ok {
		return Report{}, fmt.Errorf("no final read of the primary %q", in.Primary)
	}
	r := Report{}
	checkPresence(&r, in.Events, final)
	checkUnexplained(&r, in.Events, final)
	checkDuplicates(&r, in.Members)
	checkForks(&r, in.Events, final)
	checkDivergence(&r, in.Primary, in.Members)
	return r, nil
}

// Err is nil if the history is clean, else an error that names each kind of violation with some examples.
func (r Report) Err() error {
	classes := []struct {
		name     string
		findings []Finding
	}{
		{"confirmed writes lost", r.Lost},
		{"refused writes present", r.Resurrected},
		{"values that nobody wrote", r.Unexplained},
		{"values twice in a list", r.Duplicated},
		{"forked lists", r.Forked},
		{"differences between members", r.Diverged},
	}
	var errs []error
	for _, class := range classes {
		if len(class.findings) > 0 {
			errs = append(errs, fmt.Errorf("%d %s: %s", len(class.findings), class.name, examples(class.findings)))
		}
	}
	return errors.Join(errs...)
}

func examples(findings []Finding) string {
	const most = 5
	var words []string
	for _, f := range findings[:min(most, len(findings))] {
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}

// Summary is one line for people.
func (r Report) Summary() string {
	return fmt.Sprintf("%d accepted, %d confirmed, %d refused, %d unknown; lost: %d confirmed, %d unconfirmed",
		r.Counts.Accepted, r.Counts.Confirmed, r.Counts.Failed, r.Counts.Unknown, len(r.Lost), r.LostUnconfirmed)
}
