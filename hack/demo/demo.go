package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// manifest is what a user would apply; it is printed as it is.
//
//go:embed demo.yaml
var manifest string

// target says whose cluster it is.
type target int

const (
	// targetLocal runs on this machine: processes can be killed, and its addresses be reached.
	targetLocal target = iota
	// targetGiven is one that KUBECONFIG names: only its API is within reach.
	targetGiven
)

// operator says which operator is shown.
type operator int

const (
	// operatorBuilt is built from this tree and deployed.
	operatorBuilt operator = iota
	// operatorKept is the one that is deployed.
	operatorKept
)

// options of a demo.
type options struct {
	target     target
	operator   operator
	kubeconfig string
	devcluster string
	repository string
	// kubectl as a person in the repository can call it.
	kubectl string
}

// demo is one run.
type demo struct {
	options
	screen  *screen
	started time.Time
	lab     *lab.Lab
	redis   *lab.Redis
	// failed is the end of the output of a tool that failed.
	failed []string
}

func newDemo(o options, s *screen) *demo {
	return &demo{options: o, screen: s, started: s.now()}
}

func (d *demo) run(ctx context.Context) error {
	parts := []struct {
		heading string
		run     func(context.Context) error
	}{
		{"A Kubernetes cluster with Holdfast", d.prepare},
		{"A RedisCluster of three members", d.create},
		{"The primary dies under a write load", d.disturb},
	}
	for _, part := range parts {
		d.screen.heading(part.heading)
		if err := part.run(ctx); err != nil {
			for _, line := range d.failed {
				d.screen.line("    %s", line)
			}
			return err
		}
	}
	d.sayGoodbye()
	return nil
}

// wanted is the RedisCluster of the manifest.
func wanted() (*dbv1.RedisCluster, error) {
	rc := &dbv1.RedisCluster{}
	if err := yaml.UnmarshalStrict([]byte(manifest), rc); err != nil {
		return nil, fmt.Errorf("read demo.yaml: %w", err)
	}
	return rc, nil
}

func (d *demo) create(ctx context.Context) error {
	rc, err := wanted()
	if err != nil {
		return err
	}
	d.redis = &lab.Redis{Lab: d.lab, NamespacedName: types.NamespacedName{Namespace: rc.Namespace, Name: rc.Name}}
	if err := d.makeRoom(ctx); err != nil {
		return err
	}
	d.screen.block(manifest)
	return d.apply(ctx, rc)
}

// sayGoodbye prints what a person needs next.
func (d *demo) sayGoodbye() {
	d.screen.heading("Everything is left running. Talk to it:")
	for _, line := range nextLines(d.options, d.redis.NamespacedName) {
		d.screen.line("  %s", line)
	}
	if d.target == targetLocal {
		d.screen.line("\n%s", d.screen.paint(dim, "make cluster-down takes the cluster down again."))
	}
	d.screen.line("\n%s demo (%s)", d.screen.paint(green, "✓"), strings.TrimSpace(brief(d.screen.now().Sub(d.started))))
}

// describe is the call that tells a person why a cluster is not as it should be.
func (d *demo) describe() string {
	return "ask why with " + d.kubectl + " -n " + d.redis.Namespace + " describe rediscluster " + d.redis.Name
}
