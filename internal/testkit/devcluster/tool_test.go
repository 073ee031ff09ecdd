package devcluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/devcluster"
)

// script stands for the tool: it notes its arguments and its directory, or fails.
func script(t *testing.T, body string) devcluster.Tool {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "devcluster"), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	tool, err := devcluster.Find(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestToolIsAskedInTheRepository(t *testing.T) {
	t.Parallel()
	tool := script(t, `echo "$@" > asked`)
	if err := tool.FreezeNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	asked, err := os.ReadFile(filepath.Join(tool.Dir, "asked"))
	if err != nil || strings.TrimSpace(string(asked)) != "node freeze n2" {
		t.Errorf("asked %q, %v", asked, err)
	}
}

func TestFaultThatDidNotHappenIsAnErrorWithTheToolsWords(t *testing.T) {
	t.Parallel()
	err := script(t, "echo no such node; exit 1").StopNode(t.Context(), "n9")
	if err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Errorf("got %v", err)
	}
}

func TestMissingToolSaysHowToGetIt(t *testing.T) {
	t.Parallel()
	if _, err := devcluster.Find(t.TempDir(), ""); !errors.Is(err, devcluster.ErrMissing) {
		t.Errorf("got %v", err)
	}
}

func TestCutNeedsAllAddresses(t *testing.T) {
	t.Parallel()
	tool := script(t, `echo "$@" > asked`)
	for name, from := range map[string][]string{"nobody to cut from": nil, "a pod without an address": {"10.0.0.1", ""}} {
		if err := tool.CutPod(t.Context(), "10.0.0.9", from); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := tool.CutPod(t.Context(), "10.0.0.9", []string{"10.0.0.1", "10.0.0.2"}); err != nil {
		t.Fatal(err)
	}
	asked, err := os.ReadFile(filepath.Join(tool.Dir, "asked"))
	if err != nil || strings.TrimSpace(string(asked)) != "net cut 10.0.0.9 10.0.0.1 10.0.0.2" {
		t.Errorf("asked %q, %v", asked, err)
	}
}
