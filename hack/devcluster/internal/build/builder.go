package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// Builder builds parts into the cache.
type Builder struct {
	Dirs     state.Dirs
	Progress *progress.Reporter
}

// Missing lists the binaries of the parts that are not in the cache.
func (b *Builder) Missing(parts []Part) []string {
	var missing []string
	for _, part := range parts {
		missing = append(missing, b.missing(part)...)
	}
	return missing
}

func (b *Builder) missing(part Part) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(part.Binaries)) {
		if _, err := os.Stat(filepath.Join(b.Dirs.Parts(part.Name, part.Version), name)); err != nil {
			names = append(names, name)
		}
	}
	return names
}

// Build makes what is missing of a part.
func (b *Builder) Build(ctx context.Context, part Part) error {
	missing := b.missing(part)
	if len(missing) == 0 {
		return nil
	}
	return b.BuildOnly(ctx, part, missing)
}

// BuildOnly makes the named binaries of a part unless they are in the cache.
func (b *Builder) BuildOnly(ctx context.Context, part Part, names []string) error {
	missing := b.missing(part)
	for _, name := range names {
		if !slices.Contains(missing, name) {
			continue
		}
		label := fmt.Sprintf("%s %s built", name, part.Version)
		if err := b.Progress.Step(label, func() error { return b.compile(ctx, part, name) }); err != nil {
			return fmt.Errorf("build %s %s: %w", name, part.Version, err)
		}
	}
	return nil
}

func (b *Builder) compile(ctx context.Context, part Part, name string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command: install Go 1.26 or later and put it on the PATH")
	}
	if err := Install(Missing(part.Cgo)); err != nil {
		return err
	}
	dir := b.Dirs.Sources(part.Name, part.Version)
	if err := prepareModule(ctx, dir, part); err != nil {
		return err
	}
	target := filepath.Join(b.Dirs.Parts(part.Name, part.Version), name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	// Under another name until it is whole: a broken build must not look done.
	unfinished := target + ".part"
	args := []string{"build", "-mod=mod", "-tags=" + part.Tags, "-ldflags=-s -w " + part.LinkFlags, "-o", unfinished, part.Binaries[name]}
	if err := goCommand(ctx, dir, part, args); err != nil {
		return err
	}
	return os.Rename(unfinished, target)
}

func goCommand(ctx context.Context, dir string, part Part, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cgo := "CGO_ENABLED=0"
	if len(part.Cgo) > 0 {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo, "GOWORK=off", "GOTOOLCHAIN=local")
	if output, err := cmd.CombinedOutput(); err != nil {
		return errors.New(lastLine(string(output), err))
	}
	return nil
}

// prepareModule writes the module in which the part is built, unless it is there.
func prepareModule(ctx context.Context, dir string, part Part) error {
	target := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if part.Program != "" {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(part.Program), 0o644); err != nil {
			return err
		}
	}
	var upstream []byte
	if part.Module != "" {
		var err error
		if upstream, err = fetchModFile(ctx, dir, part); err != nil {
			return err
		}
	}
	content, err := moduleFor(part, upstream)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

// fetchModFile downloads the part's module and returns its go.mod.
func fetchModFile(ctx context.Context, dir string, part Part) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", part.Module+"@v"+part.Version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local")
	output, err := cmd.Output()
	var answer struct{ GoMod, Error string }
	if decode := json.Unmarshal(output, &answer); decode != nil {
		return nil, fmt.Errorf("download %s: %w", part.Module, errors.Join(err, decode))
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("download %s: %s", part.Module, answer.Error)
	}
	return os.ReadFile(answer.GoMod)
}

// moduleFor writes a go.mod that requires the part. Where the part's own module
// replaces others by folders beside it, they are taken from their published
// versions.
func moduleFor(part Part, upstream []byte) ([]byte, error) {
	origin, err := modfile.Parse("go.mod", upstream, nil)
	if err != nil {
		return nil, fmt.Errorf("read go.mod of %s: %w", part.Module, err)
	}
	made := &modfile.File{}
	if err := made.AddModuleStmt("build"); err != nil {
		return nil, err
	}
	if origin.Go != nil {
		if err := made.AddGoStmt(origin.Go.Version); err != nil {
			return nil, err
		}
	}
	if part.Module == "" {
		return made.Format()
	}
	if err := made.AddRequire(part.Module, "v"+part.Version); err != nil {
		return nil, err
	}
	for _, r := range origin.Replace {
		local := strings.HasPrefix(r.New.Path, ".")
		switch {
		case !local:
			err = made.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version)
		case part.Staging != "":
			err = made.AddReplace(r.Old.Path, "", r.Old.Path, part.Staging)
		}
		if err != nil {
			return nil, fmt.Errorf("replace %s: %w", r.Old.Path, err)
		}
	}
	made.Cleanup()
	return made.Format()
}
