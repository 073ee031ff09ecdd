package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// environment is what all specs share. It is opened once and never changed.
type environment struct {
	lab *lab.Lab
	kit fault.Kit
	// artifacts is the directory for what a failed spec leaves.
	artifacts string
}

// silent keeps the client library from logging each refused connection: the history records them.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

var openEnvironment = sync.OnceValues(func() (environment, error) {
	redis.SetLogger(silent{})
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return environment{}, err
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		kubeconfig = filepath.Join(repository, ".devcluster", "kubeconfig")
	}
	l, err := lab.Open(kubeconfig)
	if err != nil {
		return environment{}, err
	}
	e := environment{lab: l, artifacts: os.Getenv("ARTIFACTS")}
	if e.artifacts == "" {
		e.artifacts = filepath.Join(repository, ".bench", "e2e", time.Now().Format("20060102-150405"))
	}
	e.kit = fault.NewKit(l, repository, os.Getenv("DEVCLUSTER"))
	return e, nil
})

func env() environment {
	GinkgoHelper()
	e, err := openEnvironment()
	Expect(err).NotTo(HaveOccurred())
	return e
}

// made wants that a fault is in force. Where the nodes are not on this machine, a fault of a process, a
// node or the network is impossible, and the spec is skipped, loudly.
func made(err error) {
	GinkgoHelper()
	if err != nil && env().kit.Impossible(err) {
		Skip("SKIPPED, no fault was made: " + err.Error())
	}
	Expect(err).NotTo(HaveOccurred(), "the fault did not happen")
}

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = time.Hour
	RunSpecs(t, "Holdfast, end to end", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	l := env().lab
	By("waiting for the operator")
	Expect(lab.Until(ctx, "a pod of the operator leads", func(ctx context.Context) error {
		_, err := l.Leader(ctx)
		return err
	})).To(Succeed())
	By("clearing away what an aborted run left")
	if kit := env().kit; kit.ToolError == nil {
		Expect(kit.Tool.Heal(ctx)).To(Succeed())
	}
	left, err := l.TestNamespaces(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, namespace := range left {
		Expect(l.DeleteNamespace(ctx, namespace)).To(Succeed())
	}
}, NodeTimeout(3*time.Minute))

// A failed spec leaves what a person needs to understand it, before its clean-up takes it away.
var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() {
		return
	}
	dir := filepath.Join(env().artifacts, slug(CurrentSpecReport().FullText()))
	namespaces, err := env().lab.TestNamespaces(ctx)
	for _, namespace := range namespaces {
		err = errors.Join(err, env().lab.Dump(ctx, namespace, filepath.Join(dir, namespace)))
	}
	GinkgoWriter.Printf("objects, events and logs are in %s (%v)\n", dir, err)
}, NodeTimeout(2*time.Minute))

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9]+`)

func slug(text string) string {
	const longest = 100
	name := notInNames.ReplaceAllString(text, "-")
	return name[:min(len(name), longest)]
}
