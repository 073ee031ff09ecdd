// Command world is the simulation that package idle measures in: an API server, the manager as a
// process of its own, what a StatefulSet controller and kubelets would do, and an agent for each
// pod. It must run in a network namespace of its own, since it takes addresses as it likes; idle.Run
// starts it that way. Options come by standard input, the result goes to standard output.
//
// Start with measure in measure.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrllog.SetLogger(logr.Discard())
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return errors.New("usage: world DIRECTORY < options")
	}
	var o idle.Options
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	result, err := measured(ctx, o, os.Args[1])
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
