package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Dirs are the two directories that the tool writes to.
type Dirs struct {
	// State is the cluster that runs. It is gone after `down`.
	State string
	// Cache is what was built, by version. It outlives clusters.
	Cache string
}

// hidden are the directories that every node has of its own, so nothing that a
// node needs from the host may lie below them.
var hidden = [...]string{"/run", "/var/run", "/var/lib", "/var/log", "/proc", "/sys", "/dev"}

// New makes the paths absolute and checks that nodes will see them.
func New(state, cache string) (Dirs, error) {
	var d Dirs
	for _, dir := range []struct {
		flag, value string
		to          *string
	}{{"--state", state, &d.State}, {"--cache", cache, &d.Cache}} {
		path, err := filepath.Abs(dir.value)
		if err != nil {
			return d, fmt.Errorf("find the %s directory: %w", dir.flag, err)
		}
		for _, root := range hidden {
			if path == root || strings.HasPrefix(path, root+"/") {
				return d, fmt.Errorf("%s must not lie below %s, which nodes do not share with the host", dir.flag, root)
			}
		}
		*dir.to = path
	}
	return d, nil
}

// Kubeconfig is the one for people and tests.
func (d Dirs) Kubeconfig() string { return filepath.Join(d.State, "kubeconfig") }

// PKI holds certificates.
func (d Dirs) PKI() string { return filepath.Join(d.State, "pki") }

// Logs holds one file per component.
func (d Dirs) Logs() string { return filepath.Join(d.State, "log") }

// Log is the log of one component.
func (d Dirs) Log(component string) string { return filepath.Join(d.Logs(), component+".log") }

// ControlPlane holds etcd's data and the configuration of the control plane.
func (d Dirs) ControlPlane() string { return filepath.Join(d.State, "control-plane") }

// Host holds the record of the services on the host.
func (d Dirs) Host() string { return filepath.Join(d.State, "host") }

// Nodes holds one directory per node.
func (d Dirs) Nodes() string { return filepath.Join(d.State, "nodes") }

// Node is the disk of one node.
func (d Dirs) Node(name string) string { return filepath.Join(d.Nodes(), name) }

// Cuts records which places may not hear each other.
func (d Dirs) Cuts() string { return filepath.Join(d.State, "cuts.json") }

// Self is the copy of this binary that the cluster runs.
func (d Dirs) Self() string { return filepath.Join(d.State, "bin", "devcluster") }

// Parts holds the built binaries of a part.
func (d Dirs) Parts(part, version string) string {
	return filepath.Join(d.Cache, "bin", part+"-"+version)
}

// Sources holds the modules in which parts are built.
func (d Dirs) Sources(part, version string) string {
	return filepath.Join(d.Cache, "src", part+"-"+version)
}

// Servers holds the database servers that are unpacked for tests.
func (d Dirs) Servers() string { return filepath.Join(d.Cache, "servers") }

// Registry holds the images.
func (d Dirs) Registry() string { return filepath.Join(d.Cache, "registry") }

// Debian holds the lists and packages of the Debian suite.
func (d Dirs) Debian() string { return filepath.Join(d.Cache, "debian") }

// Lock keeps other commands out until the returned function is called. If
// somebody else holds it, waiting is called once, and then we wait.
func Lock(dir string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock in %s: %w", dir, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return func() { file.Close() }, nil
	} else if !errors.Is(err, unix.EWOULDBLOCK) {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	waiting()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { file.Close() }, nil
}
