package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/testkit/check"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

func TestManifestIsWhatTheDemoSays(t *testing.T) {
	t.Parallel()
	rc, err := wanted()
	if err != nil {
		t.Fatal(err)
	}
	const longest = 15
	if n := strings.Count(manifest, "\n"); n > longest || rc.Spec.Replicas != 3 || rc.Name != "demo" || rc.Namespace != "demo" {
		t.Errorf("%d lines, %d members, %s/%s", n, rc.Spec.Replicas, rc.Namespace, rc.Name)
	}
}

func TestDemoOnlyUsesItsOwnNamespace(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	cases := map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"its own":                    {metav1.ObjectMeta{Labels: map[string]string{labelDemo: "true"}}, ""},
		"somebody else's":            {metav1.ObjectMeta{}, "did not make it"},
		"its own, but about to go":   {metav1.ObjectMeta{Labels: map[string]string{labelDemo: "true"}, DeletionTimestamp: &now}, "being deleted"},
		"labelled with another word": {metav1.ObjectMeta{Labels: map[string]string{labelDemo: "false"}}, "did not make it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mayUse(&corev1.Namespace{ObjectMeta: c.meta})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	good := summary{gap: check.Gap{Accepted: check.Silence{To: 84 * time.Millisecond}, Confirmed: check.Silence{To: 91 * time.Millisecond}},
		counts: history.Counts{Accepted: 9415, Confirmed: 9412}, primary: "demo-1", members: []string{"demo-0", "demo-1", "demo-2"}}
	cases := map[string]struct {
		change     func(*summary)
		want, lack []string
	}{
		"a good end": {func(*summary) {},
			[]string{"84 ms  to the first accepted", "91 ms  to the first write that a replica", "9,412  each", "0  read back from demo-1 (primary), demo-0, demo-2"},
			[]string{"more had no", "port-forward", "over"}},
		"lost writes are told":         {func(s *summary) { s.lost = 3 }, []string{"Writes missing              3"}, nil},
		"unconfirmed ones are told":    {func(s *summary) { s.gone = 2 }, []string{"(2 more had no confirmation"}, nil},
		"a tunnel is told":             {func(s *summary) { s.target = targetGiven }, []string{"port-forward"}, nil},
		"a gap that never ended":       {func(s *summary) { s.gap.Confirmed.Open = true }, []string{"over 91 ms"}, nil},
		"the primary is not the first": {func(s *summary) { s.primary = "demo-2" }, []string{"demo-2 (primary), demo-0, demo-1"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good
			c.change(&s)
			got := s.text(&screen{})
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("lacks %q:\n%s", want, got)
				}
			}
			for _, lack := range c.lack {
				if strings.Contains(got, lack) {
					t.Errorf("says %q:\n%s", lack, got)
				}
			}
		})
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestNextLines(t *testing.T) {
	t.Parallel()
	got := nextLines(options{kubeconfig: "/home/a b/it's", kubectl: "hack/kubectl.sh"}, types.NamespacedName{Namespace: "demo", Name: "demo"})
	want := []string{
		`export KUBECONFIG='/home/a b/it'\''s'`,
		`hack/kubectl.sh -n demo exec -it demo-0 -c redis -- env REDISCLI_AUTH="$(hack/kubectl.sh -n demo get secret demo-auth -o jsonpath='{.data.password}' | base64 -d)" redis-cli -h demo-primary`,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got\n%s\nwant\n%s", got[i], want[i])
		}
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cause := errors.New("two\nlines")
	cases := map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"an error is one line":           {t.Context(), cause, "demo failed: two lines"},
		"with what to do":                {t.Context(), advise(cause, "try again"), "demo failed: two lines; try again"},
		"the advice at the cause wins":   {t.Context(), advise(fmt.Errorf("do: %w", advise(cause, "try again")), "despair"), "demo failed: do: two lines; try again"},
		"an interruption is not a fault": {ended, cause, "demo interrupted: what was made so far is left as it is, and make demo begins anew"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lastLine(c.ctx, c.err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestListenKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var heard int
	text := strings.Repeat("line\n", remembered) + "the last\nwords"
	last := listen(strings.NewReader(text), func(string) { heard++ })
	if heard != remembered+2 || len(last) != remembered || last[remembered-1] != "words" || last[remembered-2] != "the last" {
		t.Errorf("heard %d lines, kept %q", heard, last)
	}
}
