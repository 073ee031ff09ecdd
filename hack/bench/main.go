package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// silent keeps the client library from logging each refused connection: the history records them.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// options are the flags.
type options struct {
	suite   string
	out     string
	runs    int
	minutes int
	engine  string
	only    string
}

// suites by name. Each prints its table and returns what goes to the JSON file.
func suites() map[string]func(context.Context, *bench) (any, error) {
	return map[string]func(context.Context, *bench) (any, error){
		"failover": measureFailovers,
		"create":   measureCreation,
		"memory":   measureMemory,
		"idle":     measureIdle,
		"fleet":    measureFleet,
	}
}

// inAll are the suites of -suite all, in order.
func inAll() []string { return []string{"create", "memory", "failover", "idle", "fleet"} }

// bench is what the suites share.
type bench struct {
	options
	lab *lab.Lab
	kit fault.Kit
}

func main() {
	redis.SetLogger(silent{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parse()); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	names := strings.Join(slices.Sorted(maps.Keys(suites())), ", ")
	flag.StringVar(&o.suite, "suite", "failover", "what to measure: "+names+" or all")
	flag.StringVar(&o.out, "out", ".bench", "directory for the JSON file")
	flag.IntVar(&o.runs, "runs", 20, "runs of each fault; power cuts take a quarter of it")
	flag.IntVar(&o.minutes, "minutes", 10, "minutes of idleness")
	flag.StringVar(&o.engine, "engine", "Redis", "Redis or Valkey")
	flag.StringVar(&o.only, "only", "", "only the faults whose name contains this")
	flag.Parse()
	return o
}

func run(ctx context.Context, o options) error {
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		kubeconfig = filepath.Join(repository, ".devcluster", "kubeconfig")
	}
	l, err := lab.Open(kubeconfig)
	if err != nil {
		return err
	}
	b := &bench{options: o, lab: l, kit: fault.NewKit(l, repository, os.Getenv("DEVCLUSTER"))}
	names := []string{o.suite}
	if o.suite == "all" {
		names = inAll()
	}
	for _, name := range names {
		if err := b.measure(ctx, name); err != nil {
			return fmt.Errorf("suite %s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, name string) error {
	suite, ok := suites()[name]
	if !ok {
		return errors.New("there is no such suite")
	}
	machine, err := lookAtMachine()
	if err != nil {
		return err
	}
	started := time.Now()
	figures, err := suite(ctx, b)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s; took %s\n", machine, time.Since(started).Round(time.Second))
	return save(b.out, name, report{Suite: name, At: started.UTC(), Machine: machine, Engine: b.engine, Figures: figures})
}

// progress is one line on the standard error, so that the table can be redirected alone.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}
