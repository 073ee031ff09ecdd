package cluster

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/image"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
)

// serverPrograms are the programs that tests start outside of pods, by the last part of the image's repository.
var serverPrograms = map[string]string{"redis": "redis-server", "valkey": "valkey-server"}

// Server is a program from a database image that can be started on this machine.
type Server struct {
	// Engine is the last part of the image's repository.
	Engine string
	// Path of the program.
	Path string
}

// Servers unpacks the database images, so that tests run the very servers that the pods run.
func (c *Cluster) Servers(ctx context.Context) ([]Server, error) {
	puller, err := registry.NewPusher(c.Dirs.Registry())
	if err != nil {
		return nil, err
	}
	var servers []Server
	for _, record := range c.Images() {
		engine := path.Base(record.Repository)
		program, wanted := serverPrograms[engine]
		if !wanted {
			continue
		}
		file, err := c.ensureServer(ctx, puller, record, program)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", program, err)
		}
		servers = append(servers, Server{Engine: engine, Path: file})
	}
	return servers, nil
}

func (c *Cluster) ensureServer(ctx context.Context, puller *registry.Pusher, record ImageRecord, program string) (string, error) {
	digest := strings.TrimPrefix(record.Digest, "sha256:")
	dir := filepath.Join(c.Dirs.Servers(), program+"-"+record.Version+"-"+digest[:12])
	start := filepath.Join(dir, program)
	if _, err := os.Stat(start); err == nil {
		return start, nil
	}
	pulled, err := puller.Pull(ctx, record.Repository, record.Tags[0])
	if err != nil {
		return "", err
	}
	files := filepath.Join(dir, "files")
	if err := image.Unpack(pulled, files); err != nil {
		return "", err
	}
	// Written last: it says that everything is there.
	return start, os.WriteFile(start, []byte(startScript(files, program)), 0o755)
}

// startScript starts a program with the loader and the libraries of its own image: those of this
// machine may be older.
func startScript(files, program string) string {
	libraries := filepath.Join(files, "usr/lib/x86_64-linux-gnu")
	loader := filepath.Join(libraries, "ld-linux-x86-64.so.2")
	return fmt.Sprintf("#!/bin/sh\nexec %s --library-path %s %s \"$@\"\n",
		loader, libraries, filepath.Join(files, "usr/bin", program))
}
