package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// measureFleet looks at a manager with no, one and a hundred idle clusters. Their agents are simulated and
// have an API server of their own; the manager is the real one.
func measureFleet(ctx context.Context, _ *bench) (any, error) {
	result, err := idle.Run(ctx, idle.Options{Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	fmt.Printf("agents: %s\n", result.Agents)
	if err := table(os.Stdout, append([][]string{idle.Header()}, result.Rows()...)); err != nil {
		return nil, err
	}
	if problems := result.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("a promise was broken: %w", errors.Join(asErrors(problems)...))
	}
	return result, nil
}

func asErrors(problems []string) []error {
	out := make([]error, 0, len(problems))
	for _, p := range problems {
		out = append(out, errors.New(p))
	}
	return out
}
