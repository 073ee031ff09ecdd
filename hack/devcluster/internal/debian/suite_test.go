package debian

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestASimulationIsRead(t *testing.T) {
	t.Parallel()
	simulation := `Reading package lists...
Inst gcc-16-base (16.2.0-4 Debian:unstable [amd64])
Inst libc6 (2.43-7 Debian:unstable [amd64]) []
Inst redis-server (5:8.0.6-3 Debian:unstable [amd64])
Conf redis-server (5:8.0.6-3 Debian:unstable [amd64])
`
	want := []Package{
		{Name: "gcc-16-base", Version: "16.2.0-4"}, {Name: "libc6", Version: "2.43-7"}, {Name: "redis-server", Version: "5:8.0.6-3"},
	}
	if got := planned(simulation); !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestTheArchiveOfAPackageIsFound(t *testing.T) {
	t.Parallel()
	suite := Suite{Name: "sid", Dir: t.TempDir()}
	if err := suite.makeDirs(); err != nil {
		t.Fatal(err)
	}
	archives := filepath.Join(suite.Dir, "cache", "archives")
	for _, name := range []string{"redis_5%3a8.0.6-3_amd64.deb", "redis-server_5%3a8.0.6-3_amd64.deb", "adduser_3.1_all.deb"} {
		if err := os.WriteFile(filepath.Join(archives, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, p := range map[string]Package{
		"redis_5%3a8.0.6-3_amd64.deb": {Name: "redis", Version: "5:8.0.6-3"},
		"adduser_3.1_all.deb":         {Name: "adduser", Version: "3.1"},
	} {
		if got, err := suite.archive(p); err != nil || filepath.Base(got) != file {
			t.Errorf("%s: %q, %v", p.Name, got, err)
		}
	}
	if _, err := suite.archive(Package{Name: "redis", Version: "1"}); err == nil {
		t.Error("a package that was not downloaded was found")
	}
	if err := suite.Clean(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(archives, "*.deb")); err != nil || len(left) != 0 {
		t.Errorf("left after Clean: %v, %v", left, err)
	}
}

func TestAptKeepsToItsOwnDirectory(t *testing.T) {
	t.Parallel()
	conf := aptConf("/cache/debian")
	for _, setting := range []string{"Dir::Etc::sourcelist", "Dir::State ", "Dir::State::status", "Dir::Cache"} {
		_, value, found := strings.Cut(conf, setting)
		if !found || !strings.HasPrefix(strings.TrimSpace(value), `"/cache/debian`) {
			t.Errorf("%s points elsewhere:\n%s", setting, conf)
		}
	}
}

func TestTheReleaseOfTheMachine(t *testing.T) {
	t.Parallel()
	content := "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID='debian'\n"
	for key, want := range map[string]string{"VERSION_CODENAME": "bookworm", "ID": "debian", "NAME": "Debian GNU/Linux", "MISSING": ""} {
		if got := releaseField(content, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

func TestAptsOwnWordsAreTheError(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 100")
	if got := firstError("W: old\nE: Unable to locate package redis-servr\nE: more\n", failed); got != "Unable to locate package redis-servr" {
		t.Errorf("got %q", got)
	}
	if got := firstError("", failed); got != "exit status 100" {
		t.Errorf("got %q", got)
	}
}
