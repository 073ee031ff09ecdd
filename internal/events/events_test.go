package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	recorder "k8s.io/client-go/tools/events"

	"github.com/holdfast-dev/holdfast/internal/events"
)

// arguments as the callers give them, by reason. An event without an entry takes none.
var arguments = map[string][]any{
	"Bootstrapped":        {"shop-0", "it is the lowest ordinal"},
	"FailoverStarted":     {"shop-0", "its server exited"},
	"FailoverCompleted":   {"shop-0", "shop-1", 120 * time.Millisecond},
	"FailoverBlocked":     {"shop-1 must come back"},
	"HandOverStarted":     {"shop-0", "shop-1", "its node is drained"},
	"HandOverCompleted":   {"shop-0", "shop-1", 80 * time.Millisecond},
	"HandOverFailed":      {"shop-0", "timeout"},
	"OldPrimaryRejoined":  {"shop-0", int64(17)},
	"MemberRestart":       {"shop-0", "image a → b"},
	"MemberReplaced":      {"shop-0", "its node is gone"},
	"MemberStuck":         {"shop-0", "ImagePullBackOff"},
	"MemberIsolated":      {"shop-0"},
	"MemberKilled":        {"shop-0", "its pod object is gone"},
	"DivergentData":       {"shop-0 and shop-1"},
	"ApprovalNeeded":      {"shop-0", "db.holdfast.dev/approve-primary-restart", int64(4)},
	"ScaledOut":           {3, 5},
	"ScaledIn":            {5, 3},
	"ConfigApplied":       {"maxclients"},
	"ConfigRejected":      {"maxclients: out of range"},
	"PasswordChanged":     {10 * time.Minute},
	"SecretInvalid":       {"shop-auth", "it has no key password"},
	"CertificatesRenewed": {"the certificate of the agents"},
	"NameConflict":        {"Service", "shop-primary"},
	"RepairedObject":      {"Service", "shop-primary"},
}

func TestEveryEventFormatsItsArguments(t *testing.T) {
	t.Parallel()
	for _, e := range events.All() {
		t.Run(e.Reason(), func(t *testing.T) {
			t.Parallel()
			// The real recorder's stand-in: it formats in the same way.
			r := recorder.NewFakeRecorder(1)
			e.Emit(r, &corev1.Pod{}, arguments[e.Reason()]...)
			kind, rest, _ := strings.Cut(<-r.Events, " ")
			_, note, _ := strings.Cut(rest, " ")
			if strings.Contains(note, "%!") || note == "" {
				t.Errorf("message is %q", note)
			}
			if kind != corev1.EventTypeNormal && kind != corev1.EventTypeWarning {
				t.Errorf("type is %q", kind)
			}
			if len(note) > 1024 {
				t.Errorf("message has %d bytes, the API takes 1024", len(note))
			}
		})
	}
}

func TestReasonsAreUniqueAndCamelCase(t *testing.T) {
	t.Parallel()
	camel := regexp.MustCompile(`^([A-Z][a-z]+)+$`)
	seen := map[string]bool{}
	for _, e := range events.All() {
		if seen[e.Reason()] {
			t.Errorf("reason %s is used twice", e.Reason())
		}
		seen[e.Reason()] = true
		if !camel.MatchString(e.Reason()) {
			t.Errorf("reason %q is not CamelCase", e.Reason())
		}
	}
}

// An event that is missing from All escapes the checks above, so the source is asked.
func TestAllListsTheWholeCatalogue(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "catalogue.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if ok && g.Tok == token.VAR {
			declared += len(g.Specs)
		}
	}
	if got := len(events.All()); got != declared || declared == 0 {
		t.Errorf("All has %d events, %d are declared", got, declared)
	}
}
