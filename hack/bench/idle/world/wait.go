package main

import (
	"context"
	"fmt"
	"time"
)

// poll is how often a condition is looked at.
const poll = 100 * time.Millisecond

// until looks again and again until check says that nothing is left to wait for. It fails with what
// was waited for last.
func until(ctx context.Context, limit time.Duration, check func() (string, error)) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for {
		waiting, err := check()
		if err != nil {
			return err
		}
		if waiting == "" {
			return nil
		}
		if err := pause(ctx, poll); err != nil {
			return fmt.Errorf("%w: %s", err, waiting)
		}
	}
}

// pause lets time go by.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
