package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Prepare implements base.Lifecycle.
func (e *Engine) Prepare(_ context.Context, a wire.Assignment) (base.Command, error) {
	w, err := decodeWishes(a)
	if err != nil {
		return base.Command{}, err
	}
	path, err := e.serverPath(w.Engine)
	if err != nil {
		return base.Command{}, err
	}
	if err := e.makeDirs(); err != nil {
		return base.Command{}, err
	}
	stored, err := e.lineage.read()
	if err != nil {
		return base.Command{}, err
	}
	settings, refused := wanted(w.Parameters)
	users := e.users(w)
	acl, err := renderACL(users)
	if err != nil {
		return base.Command{}, err
	}
	err = errors.Join(
		replaceFile(e.configPath(), renderConfig(e.fixedSettings(w), settings)),
		replaceFile(e.aclPath(), acl),
	)
	if err != nil {
		return base.Command{}, err
	}
	if err := e.redial(); err != nil {
		return base.Command{}, err
	}
	e.live = newLiveSettings(settings)
	e.acl = knownUsers{}
	e.mu.Lock()
	e.seen = seen{stored: stored, configErrors: refused}
	e.mu.Unlock()
	return base.Command{Path: path, Args: []string{e.configPath()}, Dir: e.opt.DataDir}, nil
}

func (e *Engine) serverPath(engine string) (string, error) {
	if e.opt.ServerPath != "" {
		return e.opt.ServerPath, nil
	}
	switch engine {
	case "redis", "valkey":
		path, err := exec.LookPath(engine + "-server")
		if err != nil {
			return "", fmt.Errorf("find the server in the image: %w", err)
		}
		return path, nil
	}
	return "", fmt.Errorf("unknown engine %q", engine)
}

// makeDirs makes the directories and clears what killed children left in the data directory: each
// crash could leave a file as large as the data.
func (e *Engine) makeDirs() error {
	for _, dir := range []string{e.opt.DataDir, e.opt.StateDir, e.opt.RunDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the directories: %w", err)
		}
	}
	entries, err := os.ReadDir(e.opt.DataDir)
	if err != nil {
		return fmt.Errorf("read the data directory: %w", err)
	}
	for _, entry := range entries {
		if !isLeftover(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(e.opt.DataDir, entry.Name())); err != nil {
			return fmt.Errorf("clear the data directory: %w", err)
		}
	}
	return nil
}

// fixedSettings are those that belong to the agent.
func (e *Engine) fixedSettings(w facts.Wishes) map[string]string {
	held := protocol.Nowhere()
	fixed := map[string]string{
		"bind":           "* -::*",
		"port":           strconv.Itoa(int(e.opt.Port)),
		"protected-mode": "no",
		"dir":            e.opt.DataDir,
		"unixsocket":     e.socket(),
		"unixsocketperm": "700",
		"aclfile":        e.aclPath(),
		"daemonize":      "no",
		"supervised":     "no",
		"pidfile":        "",
		"logfile":        "",
		"replicaof":      fmt.Sprintf("%s %d", held.Host, held.Port),
	}
	if w.ReplicationUser != "" {
		fixed[primaryUser], fixed[primaryPassword] = w.ReplicationUser, w.ReplicationPassword
	}
	return fixed
}

// replaceFile writes a file that only this user may read. The run directory is in memory: there is
// nothing to make durable.
func replaceFile(path, content string) error {
	next := path + ".new"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func hashed(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func hostPort(a protocol.Address) string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }
