// Package exposition writes metrics in Prometheus's text format. The client library would be half
// of what an agent may weigh in every pod, for numbers that are all read from one snapshot.
//
// It must never keep state: a caller hands over families that it has just made.
//
// Start with Write.
package exposition

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Kind of a family.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family is a metric with all its series.
type Family struct {
	Name, Help string
	Kind       Kind
	Series     []Series
}

// Series is one value of a family. Label is empty for a family of one series.
type Series struct {
	Label, LabelValue string
	Value             float64
}

// One returns a family of a single series.
func One(kind Kind, name, help string, value float64) Family {
	return Family{Name: name, Help: help, Kind: kind, Series: []Series{{Value: value}}}
}

// Truth is a value that is either true or false.
type Truth bool

// Value is 1 for true and 0 for false.
func (t Truth) Value() float64 {
	if t {
		return 1
	}
	return 0
}

// Write writes families; one without series is left out.
func Write(w io.Writer, families []Family) error {
	b := bufio.NewWriter(w)
	for _, f := range families {
		if len(f.Series) > 0 {
			writeFamily(b, f)
		}
	}
	return b.Flush()
}

// writeFamily leaves errors to Flush, which reports the first of them.
func writeFamily(b *bufio.Writer, f Family) {
	write := func(parts ...string) {
		for _, p := range parts {
			_, _ = b.WriteString(p)
		}
	}
	write("# HELP ", f.Name, " ", escapeHelp(f.Help), "\n# TYPE ", f.Name, " ", string(f.Kind), "\n")
	for _, s := range f.Series {
		write(f.Name)
		if s.Label != "" {
			write("{", s.Label, `="`, escapeLabel(s.LabelValue), `"}`)
		}
		write(" ", strconv.FormatFloat(s.Value, 'g', -1, 64), "\n")
	}
}

func escapeHelp(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s)
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}
