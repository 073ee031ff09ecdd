package e2e_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// cutFromAll leaves the primary only its own node, whose kubelet goes on probing it.
func cutFromAll(ctx context.Context, s *scene, primary *corev1.Pod) (func(context.Context) error, error) {
	return cut(ctx, primary, append(addresses(s.replicas(ctx)), s.managers(ctx)...))
}

func cutFromManager(ctx context.Context, s *scene, primary *corev1.Pod) (func(context.Context) error, error) {
	return cut(ctx, primary, s.managers(ctx))
}

func cutFromReplicas(ctx context.Context, s *scene, primary *corev1.Pod) (func(context.Context) error, error) {
	return cut(ctx, primary, addresses(s.replicas(ctx)))
}

func cut(ctx context.Context, primary *corev1.Pod, from []string) (func(context.Context) error, error) {
	tool := nodeFaults()
	return tool.Heal, tool.CutPod(ctx, primary.Status.PodIP, from)
}

func (s *scene) managers(ctx context.Context) []string {
	pods, err := s.Lab.ManagerPods(ctx)
	if err != nil {
		return nil // The cut then names too few addresses and the tool refuses it.
	}
	return addresses(pods)
}

func addresses(pods []corev1.Pod) []string {
	var ips []string
	for _, pod := range pods {
		ips = append(ips, pod.Status.PodIP)
	}
	return ips
}
