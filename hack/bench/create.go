package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

// creationRuns is how many pairs of a RedisCluster and a bare StatefulSet are made.
const creationRuns = 5

// members of both.
const members = 3

// creation is what the suite gives.
type creation struct {
	Available spread `json:"available"`
	Bare      spread `json:"bareStatefulSet"`
	// Ratio of the medians.
	Ratio float64 `json:"ratio"`
	// Early counts how often a write failed right after Available was true.
	Early int `json:"availableTooEarly"`
}

func measureCreation(ctx context.Context, b *bench) (any, error) {
	var available, bare []time.Duration
	c := creation{}
	for i := range creationRuns {
		d, early, err := b.createCluster(ctx)
		if err != nil {
			return nil, err
		}
		available = append(available, d)
		if early != nil {
			c.Early++
			progress("Available was true too early: %v", early)
		}
		s, err := b.createBare(ctx)
		if err != nil {
			return nil, err
		}
		bare = append(bare, s)
		progress("creation run %d: Available after %d ms, bare StatefulSet ready after %d ms", i+1, d.Milliseconds(), s.Milliseconds())
	}
	c.Available, c.Bare = spreadOf(available), spreadOf(bare)
	c.Ratio = float64(c.Available.Median) / float64(c.Bare.Median)
	return c, table(os.Stdout, [][]string{
		{"three members, images present", "runs", "median", "worst", "ratio to bare", "Available too early"},
		{"RedisCluster, until Available", strconv.Itoa(creationRuns), c.Available.median(), c.Available.worst(),
			fmt.Sprintf("%.2f", c.Ratio), strconv.Itoa(c.Early)},
		{"bare StatefulSet, until 3 are ready", strconv.Itoa(creationRuns), c.Bare.median(), c.Bare.worst(), "1", ""},
	})
}

// createCluster makes a RedisCluster and returns the time until Available, and whether that was too early.
func (b *bench) createCluster(ctx context.Context) (took time.Duration, early, err error) {
	namespace, err := b.lab.NewNamespace(ctx, "bench-create")
	if err != nil {
		return 0, nil, err
	}
	defer b.drop(ctx, namespace)
	started := time.Now()
	redis, err := b.lab.NewRedis(ctx, types.NamespacedName{Namespace: namespace, Name: "bench"}, b.withEngine, retained)
	if err != nil {
		return 0, nil, err
	}
	wait, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if err := redis.WaitFor(wait, "Available", lab.Available()); err != nil {
		return 0, nil, err
	}
	took = time.Since(started)
	return took, firstWrite(ctx, redis), nil
}

// retained is the default, which the bare StatefulSet has too: with Delete, Kubernetes writes owners into the
// claims while the scheduler binds them, and both then try again a second later.
func retained(rc *dbv1.RedisCluster) { rc.Spec.Storage.Retention = dbv1.RetentionRetain }

// firstWrite tries one confirmed write, without a retry.
func firstWrite(ctx context.Context, redis *lab.Redis) error {
	address, err := redis.PrimaryAddress(ctx)
	if err != nil {
		return err
	}
	password, err := redis.Password(ctx)
	if err != nil {
		return err
	}
	db := load.Open(load.Options{Address: address, Passwords: []string{password}})
	defer func() { _ = db.Close() }()
	conn := db.Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Set(ctx, "first", "write", 0).Err(); err != nil {
		return fmt.Errorf("first write: %w", err)
	}
	if n, err := conn.Wait(ctx, 1, time.Second).Result(); err != nil || n < 1 {
		return fmt.Errorf("first write: %d replicas confirmed it (%w)", n, err)
	}
	return nil
}

// createBare makes a StatefulSet of the same image with volumes of the same size and waits until its pods are ready.
func (b *bench) createBare(ctx context.Context) (time.Duration, error) {
	namespace, err := b.lab.NewNamespace(ctx, "bench-bare")
	if err != nil {
		return 0, err
	}
	defer b.drop(ctx, namespace)
	set := bareSet(namespace, b.bareImage())
	started := time.Now()
	if err := b.lab.Client.Create(ctx, set); err != nil {
		return 0, fmt.Errorf("make the bare StatefulSet: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err = lab.Until(wait, "the bare StatefulSet is ready", func(ctx context.Context) error {
		if err := b.lab.Client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if set.Status.ReadyReplicas != members {
			return fmt.Errorf("%d of %d are ready", set.Status.ReadyReplicas, members)
		}
		return nil
	})
	return time.Since(started), err
}

func (b *bench) drop(ctx context.Context, namespace string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	if err := b.lab.DeleteNamespace(ctx, namespace); err != nil {
		progress("namespace %s is left behind: %v", namespace, err)
	}
}

// bareImage is the image that the operator would use, and the server in it.
func (b *bench) bareImage() [2]string {
	if b.engine == "Valkey" {
		return [2]string{"valkey/valkey:9.1", "valkey-server"}
	}
	return [2]string{"redis:8.0", "redis-server"}
}

func bareSet(namespace string, image [2]string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "bare"}
	number, yes, no := int32(members), true, false
	user := naming.RunAsID
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bare"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &number, ServiceName: "bare", PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, FSGroup: &user,
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers: []corev1.Container{{
						Name: "redis", Image: image[0],
						Command: []string{image[1], "--dir", "/data", "--appendonly", "yes", "--protected-mode", "no"},
						// As quick as a kubelet can be asked to look.
						ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
							TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(naming.RedisPort)}}},
						SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
							Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
						VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
					}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
		},
	}
}
