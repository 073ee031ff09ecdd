package lab

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Redis is one RedisCluster under test.
type Redis struct {
	Lab *Lab
	types.NamespacedName
}

// Change changes a RedisCluster before it is made or updated.
type Change func(*dbv1.RedisCluster)

// NewRedis makes a RedisCluster of three members with small volumes and room to run three on one node.
func (l *Lab) NewRedis(ctx context.Context, key types.NamespacedName, changes ...Change) (*Redis, error) {
	size := resource.MustParse("1Gi")
	rc := &dbv1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: dbv1.RedisClusterSpec{
			Mode: dbv1.RedisModeReplication, Version: "8.0", Replicas: 3,
			Storage: dbv1.StorageSpec{Size: &size, Retention: dbv1.RetentionDelete},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
		},
	}
	for _, change := range changes {
		change(rc)
	}
	if err := l.Client.Create(ctx, rc); err != nil {
		return nil, fmt.Errorf("make RedisCluster %s: %w", key, err)
	}
	return &Redis{Lab: l, NamespacedName: key}, nil
}

// Get reads the RedisCluster.
func (r *Redis) Get(ctx context.Context) (*dbv1.RedisCluster, error) {
	rc := &dbv1.RedisCluster{}
	if err := r.Lab.Client.Get(ctx, r.NamespacedName, rc); err != nil {
		return nil, fmt.Errorf("read RedisCluster %s: %w", r.NamespacedName, err)
	}
	return rc, nil
}

// Update changes the spec by a merge patch, as a user would.
func (r *Redis) Update(ctx context.Context, change Change) error {
	rc, err := r.Get(ctx)
	if err != nil {
		return err
	}
	before := rc.DeepCopy()
	change(rc)
	if err := r.Lab.Client.Patch(ctx, rc, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("change RedisCluster %s: %w", r.NamespacedName, err)
	}
	return nil
}

// Pods are the member pods, by ordinal.
func (r *Redis) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.Lab.Client.List(ctx, list, client.InNamespace(r.Namespace),
		client.MatchingLabels(naming.MemberSelector(r.Name, naming.PartOfRedis)))
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", r.NamespacedName, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		x, _ := naming.Ordinal(r.Name, a.Name)
		y, _ := naming.Ordinal(r.Name, b.Name)
		return x - y
	})
	return list.Items, nil
}

// Pod of a member.
func (r *Redis) Pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := r.Lab.Client.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, pod); err != nil {
		return nil, fmt.Errorf("read pod %s: %w", name, err)
	}
	return pod, nil
}

// Primary is the pod that the primary Service leads to.
func (r *Redis) Primary(ctx context.Context) (*corev1.Pod, error) {
	names, err := r.Routed(ctx, naming.PrimaryService(r.Name))
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("the primary Service leads to %d pods %v, want 1", len(names), names)
	}
	return r.Pod(ctx, names[0])
}

// Routed are the pods that a Service leads to.
func (r *Redis) Routed(ctx context.Context, service string) ([]string, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := r.Lab.Client.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingLabels{naming.LabelServiceName: service})
	if err != nil {
		return nil, fmt.Errorf("list the endpoints of %s: %w", service, err)
	}
	return ReadyPods(list.Items), nil
}

// ReadyPods are the pods of the ready endpoints, sorted. An endpoint without condition counts as ready, as Kubernetes has it.
func ReadyPods(endpointSlices []discoveryv1.EndpointSlice) []string {
	var names []string
	for _, slice := range endpointSlices {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
				continue
			}
			name := fmt.Sprint(endpoint.Addresses)
			if endpoint.TargetRef != nil {
				name = endpoint.TargetRef.Name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Password of the application user.
func (r *Redis) Password(ctx context.Context) (string, error) {
	rc, err := r.Get(ctx)
	if err != nil {
		return "", err
	}
	name := rc.Spec.Auth.SecretName
	if name == "" {
		name = naming.AuthSecret(r.Name)
	}
	secret := &corev1.Secret{}
	if err := r.Lab.Client.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, secret); err != nil {
		return "", fmt.Errorf("read the password of %s: %w", r.NamespacedName, err)
	}
	return string(secret.Data[naming.KeyPassword]), nil
}

// PrimaryAddress is the address of the primary Service inside the cluster, host:port.
func (r *Redis) PrimaryAddress(ctx context.Context) (string, error) {
	service := &corev1.Service{}
	key := types.NamespacedName{Namespace: r.Namespace, Name: naming.PrimaryService(r.Name)}
	if err := r.Lab.Client.Get(ctx, key, service); err != nil {
		return "", fmt.Errorf("read the primary Service of %s: %w", r.NamespacedName, err)
	}
	return Address(service.Spec.ClusterIP), nil
}

// Address of a database on a host.
func Address(host string) string {
	return net.JoinHostPort(host, strconv.Itoa(int(naming.RedisPort)))
}
