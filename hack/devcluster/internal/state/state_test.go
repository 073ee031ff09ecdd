package state

import (
	"strings"
	"testing"
)

func TestDirectoriesThatNodesDoNotSee(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		state, cache string
		refused      string
	}{
		"a home directory":                       {"/home/a/.devcluster", "/home/a/.cache/d", ""},
		"a state directory in a node's own part": {"/var/lib/devcluster", "/home/a", "--state"},
		"a cache in a node's own part":           {"/home/a", "/run/user/1000", "--cache"},
		"a name that only begins like one":       {"/running/x", "/var/libs/x", ""},
		"a way around":                           {"/home/../var/log/x", "/home/a", "--state"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.state, c.cache)
			if (err != nil) != (c.refused != "") || (err != nil && !strings.Contains(err.Error(), c.refused)) {
				t.Fatalf("error %v, want one about %q", err, c.refused)
			}
		})
	}
}

func TestRelativePathsBecomeAbsolute(t *testing.T) {
	t.Parallel()
	dirs, err := New("a", "b")
	if err != nil {
		t.Skipf("SKIPPED: the test's own directory is not shared with nodes: %v", err)
	}
	if !strings.HasPrefix(dirs.State, "/") || !strings.HasPrefix(dirs.Cache, "/") {
		t.Fatalf("%+v", dirs)
	}
}

func TestALockKeepsOthersOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	waits := make(chan struct{}, 1)
	unlock, err := Lock(dir, func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		unlock, err := Lock(dir, func() { waits <- struct{}{} })
		if err == nil {
			unlock()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("two hold the lock (%v)", err)
	case <-waits:
	}
	unlock()
	if err := <-second; err != nil {
		t.Fatal(err)
	}
}
