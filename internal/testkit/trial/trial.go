package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/check"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
	"github.com/holdfast-dev/holdfast/internal/testkit/probe"
)

// Bounds of the waits.
const (
	// warmUp bounds the time until a load runs.
	warmUp = 30 * time.Second
	// equality bounds the time until all members hold the same after the load has ended.
	equality = 20 * time.Second
)

// Options of a trial. The zero value of a field takes the default.
type Options struct {
	// Passwords that clients hold; default: the one in the cluster's Secret.
	Passwords []string
	// Adders and Appenders are the numbers of clients; default 6 and 2.
	Adders, Appenders int
	// Pace between two operations of a client; default 10 ms.
	Pace time.Duration
	// Reconnect after so many operations; default: only after an error.
	Reconnect int
	// Reach replaces the network where this machine has no route to the cluster's addresses; default: the
	// network. Clients then follow the primary's endpoint themselves, and the members are not probed.
	Reach Reach
	// WithoutConfirmation is for clusters that have no replica.
	WithoutConfirmation bool
}

// Reach connects to the database of a pod.
type Reach interface {
	Dial(ctx context.Context, pod *corev1.Pod) (net.Conn, error)
}

// Trial is a cluster under load.
type Trial struct {
	Redis   *lab.Redis
	History *history.Recorder

	options load.Options
	reach   Reach
	load    *load.Load
	probe   *probe.Probe // nil with a Reach
}

// Verdict on a trial.
type Verdict struct {
	Data check.Report
	// Primaries is what was seen of the members' claims and effects, and of the routing.
	Primaries probe.Report
}

// Err is nil if nothing was violated.
func (v Verdict) Err() error { return errors.Join(v.Data.Err(), v.Primaries.Err()) }

// Begin starts load and probe, and returns once writes are confirmed.
func Begin(ctx context.Context, redis *lab.Redis, o Options) (*Trial, error) {
	t := &Trial{Redis: redis, History: history.NewRecorder(), reach: o.Reach}
	if err := t.fill(ctx, o); err != nil {
		return nil, err
	}
	var err error
	if t.reach == nil {
		t.probe, err = probe.Start(ctx, probe.Options{Clientset: redis.Lab.Clientset, Cluster: redis.NamespacedName,
			Passwords: t.options.Passwords, Now: t.History.Now})
		if err != nil {
			return nil, err
		}
	}
	if t.load, err = load.Start(ctx, t.options); err != nil {
		t.stopProbe()
		return nil, err
	}
	const first = 50
	wait := t.load.WaitConfirmed
	if o.WithoutConfirmation {
		wait = t.load.WaitAccepted
	}
	warming, cancel := context.WithTimeout(ctx, warmUp)
	defer cancel()
	if err := wait(warming, first); err != nil {
		t.Abort()
		return nil, fmt.Errorf("warm up: %w", errors.Join(err, t.lastError()))
	}
	return t, nil
}

func (t *Trial) fill(ctx context.Context, o Options) error {
	address, err := t.Redis.PrimaryAddress(ctx)
	if err != nil {
		return err
	}
	if len(o.Passwords) == 0 {
		password, err := t.Redis.Password(ctx)
		if err != nil {
			return err
		}
		o.Passwords = []string{password}
	}
	const adders, appenders, pace = 6, 2, 10 * time.Millisecond
	if o.Adders+o.Appenders == 0 {
		o.Adders, o.Appenders = adders, appenders
	}
	if o.Pace == 0 {
		o.Pace = pace
	}
	// Each trial has its own keys, so that several can follow each other on one cluster.
	prefix := "trial-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	t.options = load.Options{Address: address, Dial: t.dialPrimary(), Passwords: o.Passwords, History: t.History, Layout: load.DefaultLayout(prefix),
		Adders: o.Adders, Appenders: o.Appenders, Pace: o.Pace, Reconnect: o.Reconnect}
	return nil
}

func (t *Trial) lastError() error {
	events := t.History.Events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Text != "" {
			return fmt.Errorf("the last error of a client: %s", events[i].Text)
		}
	}
	return nil
}

// Mark notes what the test does now, and returns the moment.
func (t *Trial) Mark(format string, arguments ...any) time.Duration {
	return t.History.Mark(fmt.Sprintf(format, arguments...))
}

// Flows waits until so many more writes were confirmed.
func (t *Trial) Flows(ctx context.Context, more int) error {
	if err := t.load.WaitConfirmed(ctx, more); err != nil {
		return errors.Join(err, t.lastError())
	}
	return nil
}

// Moved waits until the primary Service leads to another pod than that one. Without it, a slow fault
// would be taken for a survived one before it has any effect.
func (t *Trial) Moved(ctx context.Context, from *corev1.Pod) error {
	return lab.Until(ctx, "the primary Service leads to another pod than "+from.Name, func(ctx context.Context) error {
		now, err := t.Redis.Primary(ctx)
		if err != nil {
			return err
		}
		if now.UID == from.UID {
			return fmt.Errorf("it leads to %s", now.Name)
		}
		return nil
	})
}

// Accepts waits until so many more writes were accepted, confirmed or not.
func (t *Trial) Accepts(ctx context.Context, more int) error {
	if err := t.load.WaitAccepted(ctx, more); err != nil {
		return errors.Join(err, t.lastError())
	}
	return nil
}

// Gap is how long clients could not write since a moment.
func (t *Trial) Gap(since time.Duration) check.Gap {
	return check.Gaps(t.History.Events(), check.Window{From: since, Until: t.History.Now()})
}

// Abort stops load and probe without a verdict.
func (t *Trial) Abort() {
	t.load.Stop()
	t.stopProbe()
}

func (t *Trial) stopProbe() probe.Report {
	if t.probe == nil {
		return probe.Report{}
	}
	return t.probe.Stop()
}

// dialPrimary is nil where the network leads to the primary Service.
func (t *Trial) dialPrimary() load.DialFunc {
	if t.reach == nil {
		return nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		pod, err := t.Redis.Primary(ctx)
		if err != nil {
			return nil, err
		}
		return t.reach.Dial(ctx, pod)
	}
}

// toMember are the options to reach one member directly.
func (t *Trial) toMember(pod *corev1.Pod) load.Options {
	o := t.options
	o.Address, o.Dial = lab.Address(pod.Status.PodIP), nil
	if t.reach != nil {
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return t.reach.Dial(ctx, pod) }
	}
	return o
}

// Quiesce stops the load; the probe goes on.
func (t *Trial) Quiesce() { t.load.Stop() }

// End stops the load, reads every member directly, and judges. Members get a moment to become equal.
func (t *Trial) End(ctx context.Context) (Verdict, error) {
	t.load.Stop()
	v := Verdict{Primaries: t.stopProbe()}
	settling, cancel := context.WithTimeout(ctx, equality)
	defer cancel()
	var judged bool
	err := lab.Until(settling, "all members hold the same", func(ctx context.Context) error {
		report, err := t.judge(ctx)
		if err != nil {
			return err
		}
		v.Data, judged = report, true
		if len(report.Diverged) > 0 {
			return fmt.Errorf("%d differences", len(report.Diverged))
		}
		return nil
	})
	if !judged {
		return Verdict{}, err
	}
	return v, nil // A difference that stays is in the verdict.
}

func (t *Trial) judge(ctx context.Context) (check.Report, error) {
	pods, err := t.Redis.Pods(ctx)
	if err != nil {
		return check.Report{}, err
	}
	primary, err := t.Redis.Primary(ctx)
	if err != nil {
		return check.Report{}, err
	}
	in := check.Input{Events: t.History.Events(), Primary: primary.Name, Members: map[string]check.Data{}}
	for _, pod := range pods {
		data, err := t.read(ctx, t.toMember(&pod))
		if err != nil {
			return check.Report{}, fmt.Errorf("read %s: %w", pod.Name, err)
		}
		in.Members[pod.Name] = data
	}
	return check.Run(in)
}

// read tries each password, since one of them may be retired by now.
func (t *Trial) read(ctx context.Context, o load.Options) (check.Data, error) {
	var errs []error
	for _, password := range t.options.Passwords {
		o.Passwords = []string{password}
		data, err := load.Read(ctx, o)
		if err == nil {
			return data, nil
		}
		errs = append(errs, err)
	}
	return check.Data{}, errors.Join(errs...)
}

// Save writes the history into a directory and returns its path.
func (t *Trial) Save(dir, name string) (string, error) {
	path := filepath.Join(dir, name+".history.jsonl")
	return path, t.History.Save(path)
}
