package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

const (
	// labelDemo is on the namespace that the demo made: only there may it delete.
	labelDemo = "holdfast-demo"
	// createLimit bounds the creation of the cluster; images may have to be pulled.
	createLimit = 5 * time.Minute
	// clearLimit bounds the deletion of what an earlier demo left.
	clearLimit = 2 * time.Minute
)

// makeRoom sees to a namespace without a cluster of an earlier demo.
func (d *demo) makeRoom(ctx context.Context) error {
	ns, err := d.readNamespace(ctx, d.redis.Namespace)
	if err != nil {
		return err
	}
	if ns == nil {
		return d.screen.do("make the namespace", func(*step) (string, error) {
			return "namespace " + d.redis.Namespace + " made, restricted pods only", d.newNamespace(ctx)
		})
	}
	if err := mayUse(ns); err != nil {
		return err
	}
	return d.screen.do("clear away the earlier demo", func(st *step) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, clearLimit)
		defer cancel()
		return "namespace " + ns.Name + " is there and empty", advise(d.deleteCluster(ctx, st),
			"look at what is left with "+d.kubectl+" -n "+ns.Name+" get all,pvc")
	})
}

// mayUse says whether a namespace is the demo's own.
func mayUse(ns *corev1.Namespace) error {
	switch {
	case ns.Labels[labelDemo] != "true":
		return advise(fmt.Errorf("there is a namespace %s, and the demo did not make it", ns.Name),
			"delete it, or label it "+labelDemo+"=true if the demo may delete the RedisCluster in it")
	case ns.DeletionTimestamp != nil:
		return advise(fmt.Errorf("the namespace %s is being deleted", ns.Name), "wait until it is gone and run make demo again")
	}
	return nil
}

func (d *demo) newNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.redis.Namespace, Labels: map[string]string{
		labelDemo:                            "true",
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := d.lab.Client.Create(ctx, ns); err != nil {
		return fmt.Errorf("make namespace %s: %w", ns.Name, err)
	}
	return nil
}

// deleteCluster returns once the cluster, its pods and its volumes are gone.
func (d *demo) deleteCluster(ctx context.Context, st *step) error {
	rc := &dbv1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: d.redis.Namespace, Name: d.redis.Name}}
	if err := client.IgnoreNotFound(d.lab.Client.Delete(ctx, rc)); err != nil {
		return fmt.Errorf("delete RedisCluster %s: %w", d.redis, err)
	}
	return lab.Until(ctx, "the earlier demo is gone", func(ctx context.Context) error {
		err := d.remains(ctx)
		if err != nil {
			st.says("%v", err)
		}
		return err
	})
}

// remains is nil once nothing of an earlier demo is left.
func (d *demo) remains(ctx context.Context) error {
	_, err := d.redis.Get(ctx)
	switch {
	case err == nil:
		return errors.New("the RedisCluster is being deleted")
	case !apierrors.IsNotFound(err):
		return err
	}
	pods, err := d.redis.Pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("pods being deleted: %d", len(pods))
	}
	claims := &corev1.PersistentVolumeClaimList{}
	err = d.lab.Client.List(ctx, claims, client.InNamespace(d.redis.Namespace), client.MatchingLabels{naming.LabelCluster: d.redis.Name})
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	if len(claims.Items) > 0 {
		return fmt.Errorf("volumes being deleted: %d", len(claims.Items))
	}
	return nil
}

// apply makes the cluster and waits: first until it takes writes, then until all members serve.
func (d *demo) apply(ctx context.Context, rc *dbv1.RedisCluster) error {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	err := d.screen.do("create it", func(st *step) (string, error) {
		if err := d.lab.Client.Create(ctx, rc); err != nil {
			return "", fmt.Errorf("make RedisCluster %s: %w", d.redis, err)
		}
		return "created and Available: it takes writes", d.await(ctx, st, lab.Available())
	})
	if err != nil {
		return advise(err, d.describe())
	}
	return advise(d.screen.do("wait for all members", func(st *step) (string, error) {
		return "all members serve", d.await(ctx, st, lab.Settled())
	}), d.describe())
}

// await shows phase and members while it waits.
func (d *demo) await(ctx context.Context, st *step, want lab.Want) error {
	return lab.Until(ctx, d.redis.String()+" is so far", func(ctx context.Context) error {
		rc, err := d.redis.Get(ctx)
		if err != nil {
			return err
		}
		err = want(rc)
		if err != nil && rc.Status.Phase != "" {
			st.says("%s", progress(rc))
		}
		return err
	})
}

// progress of a cluster in a few words.
func progress(rc *dbv1.RedisCluster) string {
	text := fmt.Sprintf("phase %s, %s members ready", rc.Status.Phase, rc.Status.ReadyMembers)
	if rc.Status.Primary != "" {
		text += ", primary " + rc.Status.Primary
	}
	if meta.IsStatusConditionTrue(rc.Status.Conditions, dbv1.ConditionAvailable) {
		text += ", takes writes"
	}
	return text
}
