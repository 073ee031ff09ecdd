package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tool is the devcluster binary.
type Tool struct {
	// Path of the binary.
	Path string
	// Dir is where it is run: inside the repository, where it finds its state.
	Dir string
}

// ErrMissing says that there is no such tool, so that no fault of a node or of the network can be made.
var ErrMissing = errors.New("the devcluster tool is missing: build it with make build-devcluster")

// Find returns the tool of a repository: at path, or at bin/devcluster when path is empty.
func Find(repository, path string) (Tool, error) {
	if path == "" {
		path = filepath.Join(repository, "bin", "devcluster")
	}
	if _, err := os.Stat(path); err != nil {
		return Tool{}, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	return Tool{Path: path, Dir: repository}, nil
}

// StopNode cuts the power of a node; its disk stays.
func (t Tool) StopNode(ctx context.Context, node string) error {
	return t.run(ctx, "node", "stop", node)
}

// StartNode gives a node its power back.
func (t Tool) StartNode(ctx context.Context, node string) error {
	return t.run(ctx, "node", "start", node)
}

// FreezeNode stops every process of a node in its tracks.
func (t Tool) FreezeNode(ctx context.Context, node string) error {
	return t.run(ctx, "node", "freeze", node)
}

// ThawNode lets a frozen node go on.
func (t Tool) ThawNode(ctx context.Context, node string) error {
	return t.run(ctx, "node", "thaw", node)
}

// CutPod drops all packets between a pod and other addresses, in both directions, those of
// established connections too.
func (t Tool) CutPod(ctx context.Context, pod string, from []string) error {
	if pod == "" || len(from) == 0 || slices.Contains(from, "") {
		return fmt.Errorf("cut %q from %q: an address is missing", pod, from)
	}
	return t.run(ctx, append([]string{"net", "cut", pod}, from...)...)
}

// Heal ends all cuts of the network.
func (t Tool) Heal(ctx context.Context) error { return t.run(ctx, "net", "heal") }

func (t Tool) run(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, t.Path, arguments...)
	cmd.Dir = t.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("devcluster %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
