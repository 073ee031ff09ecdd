package image

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/debian"
)

// applets are the names under which busybox is reachable, as far as no package
// brings a program of that name.
var applets = [...]string{
	"sh", "ash", "awk", "base64", "basename", "cat", "chmod", "chown", "cmp", "cp", "cut", "date", "dd", "df",
	"diff", "dirname", "du", "echo", "env", "expr", "false", "find", "grep", "gzip", "gunzip", "head", "hostname",
	"id", "ip", "kill", "ln", "ls", "md5sum", "mkdir", "mkfifo", "mktemp", "mv", "nc", "netstat", "nslookup", "od",
	"pgrep", "pidof", "ping", "pkill", "printf", "ps", "pwd", "readlink", "realpath", "rm", "rmdir", "sed", "seq",
	"sha256sum", "sleep", "sort", "stat", "sync", "tail", "tar", "tee", "telnet", "test", "time", "timeout", "top",
	"touch", "tr", "true", "truncate", "tty", "uname", "uniq", "vi", "wc", "wget", "which", "whoami", "xargs", "yes",
}

// pathDirs are where the commands of an image may lie.
var pathDirs = [...]string{"/usr/bin", "/usr/sbin", "/usr/local/bin"}

// Database is a finished image of a database.
type Database struct {
	Image v1.Image
	// Version is the one of the software, without Debian's additions.
	Version string
}

// Build makes the image from the newest packages of the suite.
func (r Recipe) Build(ctx context.Context, suite debian.Suite) (Database, error) {
	packages, err := suite.Download(ctx, append(slices.Clone(r.Packages), shellPackage))
	if err != nil {
		return Database{}, err
	}
	var kept, others []Tree
	var shell Tree
	version := ""
	for _, p := range packages {
		tree, err := readPackage(ctx, p.File)
		if err != nil {
			return Database{}, err
		}
		switch {
		case p.Name == shellPackage:
			shell = tree
		case slices.Contains(r.Packages, p.Name):
			kept = append(kept, tree)
		default:
			others = append(others, tree)
		}
		if p.Name == r.Packages[0] {
			version = softwareVersion(p.Version)
		}
	}
	if version == "" || shell == nil {
		return Database{}, fmt.Errorf("apt-get did not download %s and %s", r.Packages[0], shellPackage)
	}
	for _, k := range kept {
		k.drop(r.Drop)
	}
	tree, err := compose(kept, others)
	if err != nil {
		return Database{}, err
	}
	if err := r.finish(tree, shell); err != nil {
		return Database{}, err
	}
	image, err := build(tree, v1.Config{User: r.User, WorkingDir: r.DataDir, Cmd: r.Cmd})
	return Database{Image: image, Version: version}, err
}

// finish adds what packages do not bring, and checks that all commands are there.
func (r Recipe) finish(tree, shell Tree) error {
	busybox, found := shell.resolve("/usr/bin/busybox")
	if !found {
		return errors.New(shellPackage + " brings no busybox")
	}
	tree.add("/usr/bin/busybox", shell[busybox])
	for _, applet := range applets {
		if name := "/usr/bin/" + applet; !hasEntry(tree, name) {
			tree.add(name, Entry{Link: "busybox", Mode: 0o777})
		}
	}
	addAccounts(tree)
	tree.add("/tmp", Entry{Dir: true, Mode: 0o1777})
	tree.add(r.DataDir, Entry{Dir: true, Mode: 0o777})
	for _, command := range r.Commands {
		if !slices.ContainsFunc(pathDirs[:], func(dir string) bool {
			_, found := tree.resolve(path.Join(dir, command))
			return found
		}) {
			return fmt.Errorf("the packages %s bring no command %s", strings.Join(r.Packages, ", "), command)
		}
	}
	return nil
}

// Tags are the names of a version: 8.0.6, 8.0 and 8.
func Tags(version string) []string {
	parts := strings.Split(version, ".")
	var tags []string
	for n := len(parts); n >= 1; n-- {
		tags = append(tags, strings.Join(parts[:n], "."))
	}
	return tags
}

// softwareVersion strips the epoch and the Debian revision: 5:8.0.6-3 is 8.0.6.
func softwareVersion(debianVersion string) string {
	version := debianVersion
	if _, after, found := strings.Cut(version, ":"); found {
		version = after
	}
	if last := strings.LastIndexByte(version, '-'); last >= 0 {
		version = version[:last]
	}
	// A repacked source carries a mark such as +dfsg.
	version, _, _ = strings.Cut(version, "+")
	version, _, _ = strings.Cut(version, "~")
	return version
}
