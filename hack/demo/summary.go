package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/check"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// summary is what a failover cost.
type summary struct {
	gap    check.Gap
	counts history.Counts
	// lost writes were confirmed by a replica; gone ones were answered by the old primary alone.
	lost, gone int
	primary    string
	members    []string
	target     target
}

func (s summary) text(screen *screen) string {
	row := func(label, value, note string) string {
		return fmt.Sprintf("  %s %s  %s", pad(label, len("Writes acknowledged")), screen.paint(bold, fmt.Sprintf("%9s", value)), screen.paint(dim, note))
	}
	rows := []string{
		row("Writes refused for", length(s.gap.Accepted), "to the first accepted write"),
		row("", length(s.gap.Confirmed), "to the first write that a replica confirmed (WAIT 1)"),
		row("Writes acknowledged", thousands(s.counts.Confirmed), "each confirmed by a replica"),
		row("Writes missing", thousands(s.lost), "read back from "+s.readFrom()),
	}
	if s.gone > 0 {
		rows = append(rows, row("", "", fmt.Sprintf("(%s more had no confirmation from WAIT when the primary died, and died with it)", thousands(s.gone))))
	}
	if s.target == targetGiven {
		rows = append(rows, row("", "", "(the times include making a new port-forward to the new primary)"))
	}
	return strings.Join(rows, "\n")
}

// readFrom names the members, the primary first.
func (s summary) readFrom() string {
	names := []string{s.primary + " (primary)"}
	for _, m := range slices.Sorted(slices.Values(s.members)) {
		if m != s.primary {
			names = append(names, m)
		}
	}
	return strings.Join(names, ", ")
}

func length(s check.Silence) string {
	text := fmt.Sprintf("%d ms", s.Length().Round(time.Millisecond).Milliseconds())
	if s.Open {
		return "over " + text
	}
	return text
}

// thousands groups the digits of a count.
func thousands(n int) string {
	const group = 3
	digits := strconv.Itoa(n)
	for at := len(digits) - group; at > 0; at -= group {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// nextLines are the two lines that a person needs to go on. The shell takes the password from the
// Secret; it is never printed.
func nextLines(o options, cluster types.NamespacedName) []string {
	kubectl := o.kubectl + " -n " + cluster.Namespace
	password := fmt.Sprintf(`$(%s get secret %s -o jsonpath='{.data.%s}' | base64 -d)`, kubectl, naming.AuthSecret(cluster.Name), naming.KeyPassword)
	return []string{
		"export KUBECONFIG=" + quoted(o.kubeconfig),
		fmt.Sprintf(`%s exec -it %s -c %s -- env REDISCLI_AUTH="%s" redis-cli -h %s`,
			kubectl, naming.Pod(cluster.Name, 0), naming.ContainerRedis, password, naming.PrimaryService(cluster.Name)),
	}
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/._-:+,@%=~", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
