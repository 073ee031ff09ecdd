package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Requirement is something of the machine that a package of the distribution
// brings: a command on the PATH, or a file.
type Requirement struct {
	Command string
	File    string
	Package string
}

// Met says whether the machine has it.
func (r Requirement) Met() bool {
	if r.Command != "" {
		_, err := exec.LookPath(r.Command)
		return err == nil
	}
	_, err := os.Stat(r.File)
	return err == nil
}

// Runtime is what a running cluster needs of the machine.
func Runtime() []Requirement {
	return []Requirement{
		{Command: "nft", Package: "nftables"},
		{Command: "mount", Package: "mount"},
		{Command: "dpkg-deb", Package: "dpkg"},
	}
}

// Missing names the packages of the requirements that are not met.
func Missing(requirements []Requirement) []string {
	var packages []string
	for _, r := range requirements {
		if !r.Met() && !slices.Contains(packages, r.Package) {
			packages = append(packages, r.Package)
		}
	}
	return packages
}

// Install installs packages with the machine's own sources.
func Install(packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("missing %s, and there is no apt-get to install them with: install them by hand", strings.Join(packages, ", "))
	}
	install := append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)
	err := aptGet(install)
	if err == nil {
		return nil
	}
	// Lists that were never fetched, or are too old, are the usual reason.
	if err := aptGet([]string{"update", "-q"}); err != nil {
		return fmt.Errorf("update the package lists: %w", err)
	}
	if err := aptGet(install); err != nil {
		return fmt.Errorf("install %s: %w: check the machine's apt sources, or install them by hand", strings.Join(packages, ", "), err)
	}
	return nil
}

func aptGet(args []string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	output, err := cmd.CombinedOutput()
	if err != nil {
		return errors.New(lastLine(string(output), err))
	}
	return nil
}

// lastLine is the line in which tools say what went wrong.
func lastLine(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return err.Error()
}
