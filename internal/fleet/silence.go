package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// pulse is how often silence is looked for, and so how late it may be noticed.
	pulse = 50 * time.Millisecond
	// stallLimit is how late a pulse may come before the manager distrusts its own clock reading:
	// records may lie unread in its sockets.
	stallLimit = 500 * time.Millisecond
)

// stallWatch notices that this process did not run for a while: frozen, starved, or its machine
// suspended. Silence counted over such a gap is the manager's own.
type stallWatch struct {
	last time.Time
	// over is when the last stall was noticed; zero: there was none.
	over time.Time
}

// check is for those who may run before the late pulse does.
func (s *stallWatch) check(now time.Time) {
	if !s.last.IsZero() && now.Sub(s.last) > pulse+stallLimit {
		s.over = now
	}
}

func (s *stallWatch) pulse(now time.Time) {
	s.check(now)
	s.last = now
}

func (f *Fleet) watchSilence(ctx context.Context) {
	ticker := f.options.Clock.NewTicker(pulse)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			for _, cluster := range f.newlySilent() {
				if f.options.Wake != nil {
					f.options.Wake(cluster)
				}
			}
		}
	}
}

// newlySilent marks the members whose silence has just reached their cluster's detection, and
// names their clusters. It also buries ghosts whose time is over.
func (f *Fleet) newlySilent() []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	f.stall.pulse(now)
	var woken []types.NamespacedName
	for name, c := range f.clusters {
		wake := false
		for _, m := range c.byPodUID {
			if f.dropIfPast(c, m, now) || m.silent || c.detection <= 0 {
				continue
			}
			if now.Sub(m.silentSince(f.stall.over)) >= c.detection {
				m.silent = true
				wake = true
			}
		}
		if wake {
			woken = append(woken, name)
		}
	}
	return woken
}
