package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// timelineMessage is the message of the line that the operator logs after each change of primary.
const timelineMessage = "failover timeline"

// phase is one step of a change of primary.
type phase struct {
	Name   string `json:"name"`
	Median int64  `json:"medianMs"`
	Worst  int64  `json:"worstMs"`
}

// phaseNames in the order in which they happen.
func phaseNames() []string {
	return []string{"detectedMs", "storedMs", "fencedMs", "electedMs", "promotedMs", "routedMs", "attachedMs"}
}

// timelineSince is the newest timeline of a cluster that the operator logged since a time; empty if there is none.
func (b *bench) timelineSince(ctx context.Context, cluster types.NamespacedName, since time.Time) (map[string]int64, error) {
	pods, err := b.lab.ManagerPods(ctx)
	if err != nil {
		return nil, err
	}
	from := metav1.NewTime(since.Add(-time.Second))
	timeline := map[string]int64{}
	for _, pod := range pods {
		text, err := b.lab.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{SinceTime: &from}).DoRaw(ctx)
		if err != nil {
			continue // A pod on the node that lost power has no log; the leader is elsewhere.
		}
		if found := parseTimeline(text, cluster); found != nil {
			timeline = found
		}
	}
	return timeline, nil
}

func parseTimeline(log []byte, cluster types.NamespacedName) map[string]int64 {
	var newest map[string]int64
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) != nil || line["msg"] != timelineMessage ||
			line["namespace"] != cluster.Namespace || line["name"] != cluster.Name {
			continue
		}
		newest = map[string]int64{}
		for _, name := range phaseNames() {
			if ms, ok := line[name].(float64); ok {
				newest[strings.TrimSuffix(name, "Ms")] = int64(ms)
			}
		}
	}
	return newest
}

func phasesOf(timelines []map[string]int64) []phase {
	var phases []phase
	for _, name := range phaseNames() {
		name = strings.TrimSuffix(name, "Ms")
		var values []int64
		for _, t := range timelines {
			if ms, ok := t[name]; ok {
				values = append(values, ms)
			}
		}
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		phases = append(phases, phase{Name: name, Median: values[len(values)/2], Worst: values[len(values)-1]})
	}
	return phases
}

// String is the phase for people.
func (p phase) String() string { return fmt.Sprintf("%s %d", p.Name, p.Median) }
