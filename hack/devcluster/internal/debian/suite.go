package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Suite is a Debian suite whose packages are kept in a directory.
type Suite struct {
	Name string
	Dir  string
}

// Package is one downloaded package.
type Package struct {
	Name    string
	Version string
	File    string
}

// keyrings are where Debian's keys lie, in the order of preference.
var keyrings = [...]string{
	"/usr/share/keyrings/debian-archive-keyring.pgp",
	"/usr/share/keyrings/debian-archive-keyring.gpg",
}

const osRelease = "/etc/os-release"

// Update fetches the lists of the suite.
func (s Suite) Update(ctx context.Context) error {
	mirror, err := s.mirror(ctx)
	if err != nil {
		return err
	}
	if err := s.configure(mirror); err != nil {
		return err
	}
	if _, err := s.apt(ctx, "update", "-q"); err != nil {
		return fmt.Errorf("fetch the package lists of Debian %s: %w", s.Name, err)
	}
	return nil
}

// Download fetches packages with all that they depend on.
func (s Suite) Download(ctx context.Context, names []string) ([]Package, error) {
	install := append([]string{"install", "-y", "-q", "--no-install-recommends"}, names...)
	plan, err := s.apt(ctx, append(install, "--simulate")...)
	if err != nil {
		return nil, fmt.Errorf("find %s in Debian %s: %w", strings.Join(names, ", "), s.Name, err)
	}
	if _, err := s.apt(ctx, append(install, "--download-only")...); err != nil {
		return nil, fmt.Errorf("download %s from Debian %s: %w", strings.Join(names, ", "), s.Name, err)
	}
	packages := planned(plan)
	for i, p := range packages {
		if packages[i].File, err = s.archive(p); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// Clean removes the downloaded packages; the lists stay.
func (s Suite) Clean() error {
	if err := os.RemoveAll(filepath.Join(s.Dir, "cache")); err != nil {
		return fmt.Errorf("remove downloaded packages: %w", err)
	}
	return s.makeDirs()
}

// planned reads the lines "Inst NAME (VERSION SUITE [ARCH])" of a simulation.
func planned(simulation string) []Package {
	var packages []Package
	for line := range strings.Lines(simulation) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && fields[0] == "Inst" {
			packages = append(packages, Package{Name: fields[1], Version: strings.TrimPrefix(fields[2], "(")})
		}
	}
	return packages
}

// archive finds the file of a downloaded package; its name ends in the
// architecture, which may be "all".
func (s Suite) archive(p Package) (string, error) {
	escaped := strings.ReplaceAll(p.Version, ":", "%3a")
	files, err := filepath.Glob(filepath.Join(s.Dir, "cache", "archives", p.Name+"_"+escaped+"_*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("find the archive of %s %s: %d files match", p.Name, p.Version, len(files))
	}
	return files[0], nil
}

// mirror finds where the machine's own apt gets Debian from.
func (s Suite) mirror(ctx context.Context) (string, error) {
	release, err := os.ReadFile(osRelease)
	if err != nil {
		return "", fmt.Errorf("find out which Debian this is: %w", err)
	}
	codename := releaseField(string(release), "VERSION_CODENAME")
	output, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)").Output()
	if err != nil {
		return "", fmt.Errorf("read the machine's apt sources: %w", err)
	}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[1] == codename && fields[2] == "main" {
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("the machine's apt sources have no Debian mirror (looked for suite %q, component main): add one to /etc/apt/sources.list.d", codename)
}

func releaseField(content, key string) string {
	for line := range strings.Lines(content) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), key+"="); found {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

func (s Suite) makeDirs() error {
	for _, dir := range []string{"etc", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o755); err != nil {
			return fmt.Errorf("make directory for Debian %s: %w", s.Name, err)
		}
	}
	return nil
}

func (s Suite) configure(mirror string) error {
	if err := s.makeDirs(); err != nil {
		return err
	}
	files := map[string]string{
		"status":           "",
		"etc/sources.list": sourcesList(mirror, s.Name),
		"etc/apt.conf":     aptConf(s.Dir),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write apt's %s: %w", name, err)
		}
	}
	return nil
}

func sourcesList(mirror, suite string) string {
	option := ""
	for _, keyring := range keyrings {
		if _, err := os.Stat(keyring); err == nil {
			option = "[signed-by=" + keyring + "] "
			break
		}
	}
	return "deb " + option + mirror + " " + suite + " main\n"
}

// aptConf points apt away from everything that belongs to the machine. The
// mirrors' Release files may be past their date, and the user that apt drops to
// need not be able to read the cache.
func aptConf(dir string) string {
	return fmt.Sprintf(`Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist %[1]q;
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State %[2]q;
Dir::State::status %[3]q;
Dir::Cache %[4]q;
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT::Sandbox::User "root";
Debug::NoLocking "true";
`, filepath.Join(dir, "etc/sources.list"), dir, filepath.Join(dir, "status"), filepath.Join(dir, "cache"))
}

func (s Suite) apt(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(s.Dir, "etc/apt.conf"), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", errors.New(firstError(stderr.String(), err))
	}
	return string(output), nil
}

// firstError is apt's own line of explanation, without its mark.
func firstError(stderr string, err error) string {
	for line := range strings.Lines(stderr) {
		if message, found := strings.CutPrefix(strings.TrimSpace(line), "E: "); found {
			return message
		}
	}
	return err.Error()
}
