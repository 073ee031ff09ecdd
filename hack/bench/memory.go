package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/process"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

// agentProcess is the name of the agent's process.
const agentProcess = "agent"

// observed is how long processor time is counted.
const observed = 30 * time.Second

// usage of one process.
type usage struct {
	Pod     string `json:"pod"`
	Process string `json:"process"`
	// Resident memory, and the part of it that is not backed by a file, in MiB.
	Resident  float64 `json:"residentMiB"`
	Anonymous float64 `json:"anonymousMiB"`
	// Processor time over a while, in thousandths of a core: idle, and under a load of 800 writes a second.
	Idle   float64 `json:"idleMillicores"`
	Loaded float64 `json:"loadedMillicores"`

	process process.Process
}

// measureMemory reads the memory of the operator and of the agents after a load, and their processor time.
func measureMemory(ctx context.Context, b *bench) (any, error) {
	redis, cleanUp, err := b.newRedis(ctx, "bench-memory")
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	managers, err := b.lab.ManagerPods(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := redis.Pods(ctx)
	if err != nil {
		return nil, err
	}
	all, err := find(append(managers, pods...))
	if err != nil {
		return nil, err
	}
	if err := count(ctx, all, func(u *usage, millicores float64) { u.Idle = millicores }); err != nil {
		return nil, err
	}
	t, err := trial.Begin(ctx, redis, trial.Options{})
	if err != nil {
		return nil, err
	}
	defer t.Abort()
	if err := count(ctx, all, func(u *usage, millicores float64) { u.Loaded = millicores }); err != nil {
		return nil, err
	}
	rows := [][]string{{"process", "pod", "resident", "anonymous", "idle", "under load"}}
	for _, u := range all {
		m, err := u.process.Memory()
		if err != nil {
			return nil, err
		}
		const mebi = 1 << 20
		u.Resident, u.Anonymous = float64(m.Resident)/mebi, float64(m.Anonymous)/mebi
		rows = append(rows, []string{u.Process, u.Pod, fmt.Sprintf("%.1f MiB", u.Resident), fmt.Sprintf("%.1f MiB", u.Anonymous),
			fmt.Sprintf("%.1f m", u.Idle), fmt.Sprintf("%.1f m", u.Loaded)})
	}
	return all, table(os.Stdout, rows)
}

func find(pods []corev1.Pod) ([]*usage, error) {
	var all []*usage
	for _, pod := range pods {
		found, err := process.Find(string(pod.UID), fault.ManagerProcess, agentProcess)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			all = append(all, &usage{Pod: pod.Name, Process: p.Name, process: p})
		}
	}
	if len(all) < len(pods) {
		return nil, fmt.Errorf("%d processes in %d pods: %w", len(all), len(pods), process.ErrNone)
	}
	return all, nil
}

// count measures the processor time of all processes over the same while.
func count(ctx context.Context, all []*usage, keep func(*usage, float64)) error {
	before := make([]time.Duration, len(all))
	var err error
	for i, u := range all {
		if before[i], err = u.process.CPU(); err != nil {
			return err
		}
	}
	progress("counting processor time for %s", observed)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(observed):
	}
	for i, u := range all {
		now, err := u.process.CPU()
		if err != nil {
			return err
		}
		keep(u, float64(now-before[i])/float64(observed)*1000)
	}
	return nil
}
