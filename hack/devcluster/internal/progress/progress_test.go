package progress

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAStepPrintsItsOutcomeAndItsTime(t *testing.T) {
	t.Parallel()
	failed := errors.New("no")
	cases := map[string]struct {
		took time.Duration
		err  error
		want string
	}{
		"a quick one":       {300 * time.Millisecond, nil, "  ✓ etcd built " + strings.Repeat(" ", labelWidth-len("etcd built")) + "0.3s\n"},
		"a long one":        {6*time.Minute + 41*time.Second, nil, "  ✓ etcd built " + strings.Repeat(" ", labelWidth-len("etcd built")) + "6m41s\n"},
		"one that failed":   {time.Second, failed, "  ✗ etcd built " + strings.Repeat(" ", labelWidth-len("etcd built")) + "1.0s\n"},
		"one of an instant": {0, nil, "  ✓ etcd built " + strings.Repeat(" ", labelWidth-len("etcd built")) + "0.0s\n"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var output strings.Builder
			now := time.Unix(0, 0)
			reporter := New(&output, func() time.Time { return now })
			err := reporter.Step("etcd built", func() error {
				now = now.Add(c.took)
				return c.err
			})
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if output.String() != c.want {
				t.Errorf("got %q, want %q", output.String(), c.want)
			}
		})
	}
}
