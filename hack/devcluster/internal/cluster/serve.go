package cluster

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/storage"
)

const headerPatience = 10 * time.Second

// Serve is what runs on the host for as long as the cluster is up: the registry
// and the provisioner of volumes.
func (c *Cluster) Serve(ctx context.Context) error {
	images, err := registry.Open(c.Dirs.Registry())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", registry.Address())
	if err != nil {
		return fmt.Errorf("listen for the registry: %w", err)
	}
	server := &http.Server{Handler: images, ReadHeaderTimeout: headerPatience}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	log.Printf("the registry listens on %s", registry.Address())
	go c.provision(ctx)
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-failed:
		return fmt.Errorf("serve the registry: %w", err)
	}
}

func (c *Cluster) provision(ctx context.Context) {
	for {
		err := c.awaitAPIServer(ctx)
		if err == nil {
			break
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		log.Printf("wait for the API server: %v", err)
	}
	client, err := c.client()
	if err != nil {
		log.Printf("provision volumes: %v", err)
		return
	}
	log.Printf("volumes are provisioned")
	storage.Provisioner{Disk: c.Dirs.Node}.Run(ctx, client)
}
