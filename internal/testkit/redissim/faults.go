package redissim

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

var errNoServer = errors.New("no such server runs")

// CrashServer kills the server of a pod; its agent lives on.
func (w *World) CrashServer(pod string) error {
	for _, a := range w.inOrder() {
		if a.pod == pod && a.running() {
			a.crash()
			return nil
		}
	}
	return errNoServer
}

// DeletePod stops a pod as a drain does.
func (w *World) DeletePod(pod string) error {
	return w.Store.Client().Delete(context.Background(), w.podObject(pod))
}

// ForcePodAway takes a pod out of the API at once; its kubelet kills it a moment later.
func (w *World) ForcePodAway(pod string) error {
	return w.Store.Client().Delete(context.Background(), w.podObject(pod), client.GracePeriodSeconds(0))
}

func (w *World) podObject(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster.Namespace, Name: name}}
}

// RedisCluster is the cluster as the API server has it; nil: it is gone.
func (w *World) RedisCluster() *v1.RedisCluster {
	c := &v1.RedisCluster{}
	if err := w.Store.Client().Get(context.Background(), w.Cluster, c); err != nil {
		return nil
	}
	return c
}

// Change is what a user edits in the cluster.
func (w *World) Change(edit func(c *v1.RedisCluster)) error {
	return w.Store.Edit(&v1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster.Namespace, Name: w.Cluster.Name}},
		func(o client.Object) {
			if c, ok := o.(*v1.RedisCluster); ok {
				edit(c)
			}
		})
}

// Create makes an object as a user does.
func (w *World) Create(o client.Object) error {
	return w.Store.Client().Create(context.Background(), o)
}

// Secret by its name; nil: there is none.
func (w *World) Secret(name string) *corev1.Secret {
	s := &corev1.Secret{}
	if err := w.Store.Client().Get(context.Background(), client.ObjectKey{Namespace: w.Cluster.Namespace, Name: name}, s); err != nil {
		return nil
	}
	return s
}

// Member is what a test may know of a server.
type Member struct {
	Pod       string
	Phase     wire.ServerPhase
	Primary   bool
	InStep    bool
	Passwords []string
	// Parameters that are in force.
	Parameters map[string]string
	// Starts of the server by this agent.
	Starts int
}

// Members are the servers of all pods that run.
func (w *World) Members() []Member {
	var out []Member
	for _, a := range w.inOrder() {
		if a.gone {
			continue
		}
		m := Member{Pod: a.pod, Phase: a.phase, Starts: a.starts}
		if s := a.server; s != nil {
			m.Primary, m.InStep = s.isPrimary, s.link == linkUp
			m.Passwords, m.Parameters = s.passwords, s.parameters
		}
		out = append(out, m)
	}
	return out
}
