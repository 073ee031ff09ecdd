package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/versions"
)

// Assets builds the binaries that API-server tests need and returns a directory
// with all of them, as envtest wants it.
func (b *Builder) Assets(ctx context.Context) (string, error) {
	dir := filepath.Join(b.Dirs.Cache, "envtest", "bin-"+versions.Kubernetes+"-etcd-"+versions.Etcd)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory for envtest: %w", err)
	}
	wanted := map[string][]string{
		Etcd:       {"etcd"},
		Kubernetes: {"kube-apiserver", "kubectl"},
	}
	for _, part := range Parts() {
		names, needed := wanted[part.Name]
		if !needed {
			continue
		}
		if err := b.BuildOnly(ctx, part, names); err != nil {
			return "", err
		}
		for _, name := range names {
			if err := link(filepath.Join(b.Dirs.Parts(part.Name, part.Version), name), filepath.Join(dir, name)); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}

// link makes a hard link: the same file under a second name.
func link(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", to, err)
	}
	if err := os.Link(from, to); err != nil {
		return fmt.Errorf("link %s: %w", to, err)
	}
	return nil
}
