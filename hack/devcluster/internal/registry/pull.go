package registry

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Pull reads an image that the registry has.
func (p *Pusher) Pull(ctx context.Context, repository, tag string) (v1.Image, error) {
	reference, err := name.NewTag(Address()+"/"+repository+":"+tag, name.Insecure)
	if err != nil {
		return nil, fmt.Errorf("name of the image: %w", err)
	}
	image, err := remote.Image(reference, remote.WithTransport(p.transport), remote.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("pull %s:%s: %w", repository, tag, err)
	}
	return image, nil
}
