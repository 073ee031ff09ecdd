package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
	"github.com/holdfast-dev/holdfast/internal/testkit/tunnel"
)

// loadTime is how long the load runs before the fault, and again after it.
const loadTime = 5 * time.Second

// disturb kills the primary under load and judges what came of it.
func (d *demo) disturb(ctx context.Context) error {
	tunnels := tunnel.New(d.lab.Config, d.lab.Clientset)
	defer tunnels.Close()
	var t *trial.Trial
	o := d.loadOptions(tunnels)
	err := d.screen.do("start a write load", func(*step) (done string, err error) {
		t, err = trial.Begin(ctx, d.redis, o)
		return fmt.Sprintf("%d clients write; a write counts once WAIT 1 confirms it", o.Adders+o.Appenders), err
	})
	if err != nil {
		return advise(err, d.describe())
	}
	defer t.Abort()
	if err := d.screen.do("let it run", func(st *step) (string, error) { return d.watchLoad(ctx, st, t) }); err != nil {
		return err
	}
	fall, err := d.failOver(ctx, t)
	if err != nil {
		return advise(err, d.describe())
	}
	gap := t.Gap(fall.at)
	var verdict trial.Verdict
	err = d.screen.do("read every member back", func(*step) (done string, err error) {
		verdict, err = t.End(ctx)
		return "every member read back, value by value", err
	})
	if err != nil {
		return advise(err, "the members could not be read: look at "+d.kubectl+" -n "+d.redis.Namespace+" get pods")
	}
	d.screen.line("")
	d.screen.line("%s", summary{gap: gap, counts: verdict.Data.Counts, lost: len(verdict.Data.Lost),
		gone: verdict.Data.LostUnconfirmed, primary: fall.successor, members: fall.members, target: d.target}.text(d.screen))
	return d.judge(t, verdict)
}

// judge fails if anything was violated, and keeps the evidence.
func (d *demo) judge(t *trial.Trial, v trial.Verdict) error {
	err := v.Err()
	if err == nil {
		return nil
	}
	path, saveErr := t.Save(filepath.Join(d.repository, ".bench"), "demo")
	if saveErr != nil {
		path = saveErr.Error()
	}
	return advise(err, "Holdfast broke its promise: please report it with the history of all writes ("+path+") and the operator's log")
}

// loadOptions are gentler where each connection goes through the API server.
func (d *demo) loadOptions(tunnels *tunnel.Tunnels) trial.Options {
	const adders, appenders, pace = 6, 2, 10 * time.Millisecond
	o := trial.Options{Adders: adders, Appenders: appenders, Pace: pace}
	if d.target == targetGiven {
		o.Adders, o.Appenders, o.Reach = adders/2, appenders/2, tunnels
	}
	return o
}

// watchLoad shows the growing number of writes for a while.
func (d *demo) watchLoad(ctx context.Context, st *step, t *trial.Trial) (string, error) {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	end := time.NewTimer(loadTime)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticker.C:
			st.hears(fmt.Sprintf("%s writes acknowledged", thousands(t.History.Counts().Confirmed)))
		case <-end.C:
			c := t.History.Counts()
			return fmt.Sprintf("%s writes acknowledged, %s refused", thousands(c.Confirmed), thousands(c.Failed)), nil
		}
	}
}

// kill makes the fault that this cluster allows, and says what it is.
func (d *demo) kill(ctx context.Context, primary *corev1.Pod) error {
	kit := fault.NewKit(d.lab, d.repository, d.devcluster)
	if d.target == targetLocal {
		return kit.KillServer(ctx, primary)
	}
	return kit.DeletePodByForce(ctx, primary)
}

func (d *demo) killWords(pod string) string {
	if d.target == targetLocal {
		return "kill -9 of the redis-server in " + pod
	}
	return "forced deletion of the pod " + pod
}
