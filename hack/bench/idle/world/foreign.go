package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	foreignNamespace = "foreign"
	foreignSize      = 32 << 10
	// fillers is how many Secrets are made at the same time.
	fillers = 8
)

// fill makes Secrets that belong to nobody the manager knows.
func (s *apiServer) fill(ctx context.Context, secrets int) error {
	if secrets == 0 {
		return nil
	}
	say("making %d foreign Secrets", secrets)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreignNamespace}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("make the foreign namespace: %w", err)
	}
	errs := make([]error, fillers)
	var wg sync.WaitGroup
	for f := range fillers {
		wg.Go(func() {
			for i := f; i < secrets && errs[f] == nil; i += fillers {
				errs[f] = s.foreign(ctx, i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *apiServer) foreign(ctx context.Context, i int) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: foreignNamespace, Name: fmt.Sprintf("secret-%d", i)},
		Data:       map[string][]byte{"blob": make([]byte, foreignSize)},
	}
	if err := s.client.Create(ctx, secret); err != nil {
		return fmt.Errorf("make foreign Secret: %w", err)
	}
	return nil
}
