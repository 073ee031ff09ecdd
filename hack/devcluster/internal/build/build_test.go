package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

const upstreamWithFolders = `module example.com/big

go 1.26.0

require example.com/api v0.0.0

replace (
	example.com/api => ./staging/api
	example.com/old => example.com/fork v1.2.3
)
`

func TestTheModuleOfAPart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		part     Part
		upstream string
		has      []string
		lacks    []string
	}{
		"folders become published versions": {
			Part{Module: "example.com/big", Version: "1.0.0", Staging: "v0.9.0"}, upstreamWithFolders,
			[]string{"go 1.26.0", "require example.com/big v1.0.0", "example.com/api => example.com/api v0.9.0", "example.com/old => example.com/fork v1.2.3"},
			[]string{"./staging"},
		},
		"folders whose requirement has a version are left to it": {
			Part{Module: "example.com/big", Version: "1.0.0"}, upstreamWithFolders,
			[]string{"example.com/old => example.com/fork v1.2.3"},
			[]string{"example.com/api"},
		},
		"a program of our own needs no module": {
			Part{Version: "1", Program: "package main"}, "",
			[]string{"module build"}, []string{"require", "replace"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			content, err := moduleFor(c.part, []byte(c.upstream))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(string(content), want) {
					t.Errorf("the module lacks %q:\n%s", want, content)
				}
			}
			for _, unwanted := range c.lacks {
				if strings.Contains(string(content), unwanted) {
					t.Errorf("the module has %q:\n%s", unwanted, content)
				}
			}
		})
	}
}

func TestEveryBinaryHasOnePlace(t *testing.T) {
	t.Parallel()
	dirs := state.Dirs{State: "/s", Cache: "/c"}
	paths := Binaries(dirs)
	for _, name := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
		"containerd", "containerd-shim-runc-v2", "ctr", "runc", "bridge", "host-local", "loopback", "portmap", "coredns", "pause",
	} {
		if !strings.HasPrefix(paths[name], "/c/bin/") {
			t.Errorf("%s lies at %q", name, paths[name])
		}
	}
	total := 0
	for _, part := range Parts() {
		total += len(part.Binaries)
	}
	if total != len(paths) {
		t.Errorf("%d binaries have %d places: two parts make one of the same name", total, len(paths))
	}
}

func TestWhatIsInTheCacheIsNotBuiltAgain(t *testing.T) {
	t.Parallel()
	dirs := state.Dirs{State: t.TempDir(), Cache: t.TempDir()}
	part := Part{Name: "p", Version: "1", Program: "package main\nfunc main() { broken }", Binaries: map[string]string{"a": ".", "b": "."}}
	for name := range part.Binaries {
		path := filepath.Join(dirs.Parts("p", "1"), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var output strings.Builder
	builder := &Builder{Dirs: dirs, Progress: progress.New(&output, time.Now)}
	if err := builder.Build(t.Context(), part); err != nil || output.Len() != 0 {
		t.Fatalf("%v, output %q", err, output.String())
	}
	if err := os.Remove(filepath.Join(dirs.Parts("p", "1"), "b")); err != nil {
		t.Fatal(err)
	}
	if missing := builder.Missing([]Part{part}); !slices.Equal(missing, []string{"b"}) {
		t.Errorf("missing: %v", missing)
	}
	// The program does not compile, and that must not leave a binary behind.
	if err := builder.Build(t.Context(), part); err == nil || !strings.Contains(err.Error(), "build b 1") {
		t.Errorf("error %v, want one that names the binary", err)
	}
	if missing := builder.Missing([]Part{part}); !slices.Equal(missing, []string{"b"}) {
		t.Errorf("missing after a failed build: %v", missing)
	}
}

func TestAProgramIsBuilt(t *testing.T) {
	t.Parallel()
	dirs := state.Dirs{State: t.TempDir(), Cache: t.TempDir()}
	var output strings.Builder
	builder := &Builder{Dirs: dirs, Progress: progress.New(&output, time.Now)}
	if err := builder.Build(t.Context(), pause()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dirs.Parts(Pause, pause().Version), "pause"))
	if err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Fatalf("%v, %v", info, err)
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "header.h")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := Missing([]Requirement{
		{Command: "sh", Package: "dash"},
		{File: file, Package: "headers"},
		{Command: "no-such-command-anywhere", Package: "x"},
		{File: file + ".missing", Package: "y"},
		{Command: "another-command-that-is-missing", Package: "x"},
	})
	if !slices.Equal(missing, []string{"x", "y"}) {
		t.Fatalf("missing: %v", missing)
	}
}
