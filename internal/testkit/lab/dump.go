package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
)

// logTimeout bounds the read of one log.
const logTimeout = 5 * time.Second

// Dump writes what a person needs to understand a failure into a directory: the objects of a
// namespace as YAML, and the logs of its pods and of the operator. It goes on after an error.
func (l *Lab) Dump(ctx context.Context, namespace, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the dump directory: %w", err)
	}
	var errs []error
	lists := map[string]client.ObjectList{
		"redisclusters": &dbv1.RedisClusterList{}, "pods": &corev1.PodList{}, "events": &corev1.EventList{},
		"endpointslices": &discoveryv1.EndpointSliceList{}, "services": &corev1.ServiceList{},
		"persistentvolumeclaims": &corev1.PersistentVolumeClaimList{},
	}
	for name, list := range lists {
		errs = append(errs, l.dumpList(ctx, list, namespace, filepath.Join(dir, name+".yaml")))
	}
	errs = append(errs, l.dumpLogs(ctx, namespace, dir), l.dumpLogs(ctx, ManagerNamespace, dir))
	return errors.Join(errs...)
}

func (l *Lab) dumpList(ctx context.Context, list client.ObjectList, namespace, path string) error {
	if err := l.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list for %s: %w", filepath.Base(path), err)
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return os.WriteFile(path, text, 0o644)
}

func (l *Lab) dumpLogs(ctx context.Context, namespace, dir string) error {
	logs, err := l.Logs(ctx, namespace)
	for name, text := range logs {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name+".log"), text, 0o644))
	}
	return err
}

// Logs of all containers of a namespace by <pod>.<container>, with the previous run of a container as
// <pod>.<container>.previous. A container without a log is left out.
func (l *Lab) Logs(ctx context.Context, namespace string) (map[string][]byte, error) {
	pods := &corev1.PodList{}
	if err := l.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list pods for their logs: %w", err)
	}
	logs := map[string][]byte{}
	for _, pod := range pods.Items {
		for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			name := pod.Name + "." + status.Name
			l.readLog(ctx, &pod, corev1.PodLogOptions{Container: status.Name}, func(text []byte) { logs[name] = text })
			if status.RestartCount > 0 {
				l.readLog(ctx, &pod, corev1.PodLogOptions{Container: status.Name, Previous: true},
					func(text []byte) { logs[name+".previous"] = text })
			}
		}
	}
	return logs, nil
}

// readLog leaves out what cannot be read: a container that never started or a node that is down has no log.
func (l *Lab) readLog(ctx context.Context, pod *corev1.Pod, o corev1.PodLogOptions, keep func([]byte)) {
	// The kubelet of a node that is down or frozen never answers.
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	text, err := l.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &o).DoRaw(ctx)
	if err == nil {
		keep(text)
	}
}
