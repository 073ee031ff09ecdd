package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells the time since some fixed moment and never goes back.
type Clock interface {
	Now() time.Duration
	// Ticker sends about every d until stop is called.
	Ticker(d time.Duration) (ticks <-chan time.Time, stop func())
}

// bootClock also counts while the machine is suspended: a member of a suspended node has been
// out of touch, whatever the process noticed.
type bootClock struct{ start time.Duration }

// NewClock returns the machine's clock, zero now.
func NewClock() Clock {
	return bootClock{start: sinceBoot()}
}

func (c bootClock) Now() time.Duration { return sinceBoot() - c.start }

func (bootClock) Ticker(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

func sinceBoot() time.Duration {
	var ts unix.Timespec
	// The call cannot fail with a valid clock and a valid address.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}
