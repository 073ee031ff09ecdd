package idle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options of a run. The zero value of each field means its default.
type Options struct {
	// Clusters are the numbers of clusters to measure with, in ascending order; by default 0, 1 and 100.
	Clusters []int `json:"clusters"`
	// For is how long each number is measured; by default a minute.
	For time.Duration `json:"for"`
	// Rest is how long the manager is left alone before; by default 15 seconds.
	Rest time.Duration `json:"rest"`
	// ForeignSecrets of 32 KiB each are made before the manager starts. They must cost it nothing.
	ForeignSecrets int `json:"foreignSecrets"`
	// Root is the project's directory; by default the working directory.
	Root string `json:"root"`
	// Manager is the binary; by default bin/manager, as make build leaves it.
	Manager string `json:"manager"`
	// Watches is the manager's watches file; by default the project's.
	Watches string `json:"watches"`
	// ManagerEnv is added to the manager's environment, for trying out settings of the runtime.
	ManagerEnv []string `json:"managerEnv"`
	// ManagerArgs is added to the manager's arguments.
	ManagerArgs []string `json:"managerArgs"`
	// Assets is the directory with kube-apiserver and etcd; by default that of bin/devcluster assets.
	Assets string `json:"assets"`
	// Log takes progress and, at the end, the log of a manager that failed; nil: nobody.
	Log io.Writer `json:"-"`
}

func (o Options) complete(ctx context.Context) (Options, error) {
	if len(o.Clusters) == 0 {
		o.Clusters = []int{0, 1, 100}
	}
	if o.For == 0 {
		o.For = time.Minute
	}
	if o.Rest == 0 {
		o.Rest = 15 * time.Second
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, fmt.Errorf("find the project's directory: %w", err)
	}
	o.Root = root
	if o.Manager == "" {
		o.Manager = filepath.Join(root, "bin", "manager")
	}
	if _, err := os.Stat(o.Manager); err != nil {
		return o, fmt.Errorf("find the manager, run make build first: %w", err)
	}
	if o.Watches == "" {
		o.Watches = filepath.Join(root, "watches.yaml")
	}
	if o.Assets == "" {
		out, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "devcluster"), "assets").Output()
		if err != nil {
			return o, fmt.Errorf("find kube-apiserver and etcd by bin/devcluster assets, run make build-devcluster first: %w", err)
		}
		lines := strings.Fields(string(out))
		if len(lines) == 0 {
			return o, errors.New("bin/devcluster assets named no directory")
		}
		o.Assets = lines[len(lines)-1]
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, nil
}

// Run measures and returns what it measured. It needs the right to make a network namespace: root,
// or a kernel that gives it to users.
func Run(ctx context.Context, o Options) (Result, error) {
	o, err := o.complete(ctx)
	if err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "idle-")
	if err != nil {
		return Result{}, fmt.Errorf("make directory for the run: %w", err)
	}
	result, err := runWorld(ctx, o, dir)
	if gone := os.RemoveAll(dir); gone != nil {
		err = errors.Join(err, fmt.Errorf("clear away: %w", gone))
	}
	return result, err
}

// runWorld builds the simulation and runs it in a network namespace of its own.
func runWorld(ctx context.Context, o Options, dir string) (Result, error) {
	binary := filepath.Join(dir, "world")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./hack/bench/idle/world")
	build.Dir = o.Root
	if out, err := build.CombinedOutput(); err != nil {
		return Result{}, fmt.Errorf("build the simulation: %w\n%s", err, out)
	}
	in, err := json.Marshal(o)
	if err != nil {
		return Result{}, fmt.Errorf("encode options: %w", err)
	}
	var out bytes.Buffer
	world := exec.CommandContext(ctx, binary, dir)
	world.Stdin, world.Stdout, world.Stderr = bytes.NewReader(in), &out, o.Log
	world.SysProcAttr = namespaced()
	// It has an API server to stop.
	world.Cancel = func() error { return world.Process.Signal(syscall.SIGTERM) }
	world.WaitDelay = 30 * time.Second
	err = world.Run()
	if errors.Is(err, os.ErrPermission) {
		return Result{}, fmt.Errorf("make a network namespace, for which root is needed or a kernel that gives them to users: %w", err)
	}
	if err != nil {
		return Result{}, fmt.Errorf("run the simulation: %w", err)
	}
	var result Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return Result{}, fmt.Errorf("read what was measured: %w", err)
	}
	return result, nil
}

// namespaced gives a process a network of its own. A user who is not root gets it within a user
// namespace, in which he is.
func namespaced() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}
