package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallCopiesTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // an init container may run again
		if err := install(dir); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "agent"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the copy differs: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, "agent"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind %v, %v", entries, err)
	}
	if err := install(filepath.Join(dir, "absent")); err == nil {
		t.Error("installed into a directory that does not exist")
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	required := []string{"--engine=redis", "--cluster=uid", "--pod=shop-0", "--server-name=shop.prod.agents.holdfast"}
	cases := map[string]struct {
		args  []string
		wants string
	}{
		"run without a cluster":       {[]string{"run", "--engine=redis"}, `required flag(s) "cluster", "pod", "server-name" not set`},
		"run with an unknown engine":  {append([]string{"run"}, append([]string{"--tls-dir=/absent"}, strings.Replace(required[0], "redis", "oracle", 1), required[1], required[2], required[3])...), `unknown engine "oracle"`},
		"run without certificates":    {append([]string{"run", "--tls-dir=/absent"}, required...), "read the certificates"},
		"install without a directory": {[]string{"install"}, "accepts 1 arg(s)"},
		"run with an argument":        {[]string{"run", "now"}, `unknown command "now"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := newCommand()
			command.SetArgs(c.args)
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	command := newCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"version"})
	if err := command.ExecuteContext(t.Context()); err != nil || out.String() != version+"\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}
