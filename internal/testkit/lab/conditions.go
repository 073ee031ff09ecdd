package lab

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Want is a check on a RedisCluster as observed: nil if it is so, else an error that says how it is.
type Want func(*dbv1.RedisCluster) error

// WaitFor waits until all checks hold at one moment.
func (r *Redis) WaitFor(ctx context.Context, what string, wants ...Want) error {
	return Until(ctx, r.String()+" is "+what, func(ctx context.Context) error {
		rc, err := r.Get(ctx)
		if err != nil {
			return err
		}
		return All(wants...)(rc)
	})
}

// All joins checks.
func All(wants ...Want) Want {
	return func(rc *dbv1.RedisCluster) error {
		var errs []error
		for _, want := range wants {
			errs = append(errs, want(rc))
		}
		return errors.Join(errs...)
	}
}

// Condition wants a status of a condition that speaks of the current spec.
func Condition(name string, status metav1.ConditionStatus) Want {
	return func(rc *dbv1.RedisCluster) error {
		c := meta.FindStatusCondition(rc.Status.Conditions, name)
		switch {
		case c == nil:
			return fmt.Errorf("%s is absent", name)
		case c.ObservedGeneration != rc.Generation:
			return fmt.Errorf("%s speaks of generation %d, the spec is %d", name, c.ObservedGeneration, rc.Generation)
		case c.Status != status:
			return fmt.Errorf("%s is %s (%s: %s)", name, c.Status, c.Reason, c.Message)
		}
		return nil
	}
}

// Reason wants a reason of a condition.
func Reason(name, reason string) Want {
	return func(rc *dbv1.RedisCluster) error {
		c := meta.FindStatusCondition(rc.Status.Conditions, name)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("%s has not the reason %s: %+v", name, reason, c)
		}
		return nil
	}
}

// Available wants clients to be able to write.
func Available() Want { return Condition(dbv1.ConditionAvailable, metav1.ConditionTrue) }

// Settled wants a cluster that has nothing left to do and lacks nothing.
func Settled() Want {
	return All(
		Available(),
		Condition(dbv1.ConditionProgressing, metav1.ConditionFalse),
		Condition(dbv1.ConditionDegraded, metav1.ConditionFalse),
		Condition(dbv1.ConditionUpToDate, metav1.ConditionTrue),
		allReady,
	)
}

func allReady(rc *dbv1.RedisCluster) error {
	ready := 0
	for _, m := range rc.Status.Members {
		if m.Ready {
			ready++
		}
	}
	if ready != int(rc.Spec.Replicas) || len(rc.Status.Members) != ready {
		return fmt.Errorf("%d members are ready of %d listed, want %d", ready, len(rc.Status.Members), rc.Spec.Replicas)
	}
	return nil
}

// PrimaryIsNot wants another primary than that pod.
func PrimaryIsNot(pod string) Want {
	return func(rc *dbv1.RedisCluster) error {
		if rc.Status.Primary == "" || rc.Status.Primary == pod {
			return fmt.Errorf("the primary is %q", rc.Status.Primary)
		}
		return nil
	}
}

// EpochIs wants that no decision about the primary was made since.
func EpochIs(epoch int64) Want {
	return func(rc *dbv1.RedisCluster) error {
		if rc.Status.Epoch != epoch {
			return fmt.Errorf("the epoch is %d, want %d: the primary changed", rc.Status.Epoch, epoch)
		}
		return nil
	}
}
