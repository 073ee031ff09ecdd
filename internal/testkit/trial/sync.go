package trial

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

// Syncs counts the synchronisations that a server served since it started.
type Syncs struct{ Full, Partial int64 }

// Since is the difference to an earlier count of the same server.
func (s Syncs) Since(earlier Syncs) Syncs {
	return Syncs{Full: s.Full - earlier.Full, Partial: s.Partial - earlier.Partial}
}

// Info of one member, by field.
func (t *Trial) Info(ctx context.Context, pod *corev1.Pod, sections ...string) (map[string]string, error) {
	o := t.toMember(pod)
	var text string
	var err error
	for _, password := range t.options.Passwords {
		o.Passwords = []string{password}
		client := load.Open(o)
		text, err = client.Info(ctx, sections...).Result()
		_ = client.Close()
		if err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", pod.Name, err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// Syncs of one member.
func (t *Trial) Syncs(ctx context.Context, pod *corev1.Pod) (Syncs, error) {
	fields, err := t.Info(ctx, pod, "stats")
	if err != nil {
		return Syncs{}, err
	}
	full, err := strconv.ParseInt(fields["sync_full"], 10, 64)
	if err != nil {
		return Syncs{}, fmt.Errorf("sync_full of %s: %w", pod.Name, err)
	}
	partial, err := strconv.ParseInt(fields["sync_partial_ok"], 10, 64)
	if err != nil {
		return Syncs{}, fmt.Errorf("sync_partial_ok of %s: %w", pod.Name, err)
	}
	return Syncs{Full: full, Partial: partial}, nil
}
