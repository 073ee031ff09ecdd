package image

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Source is where an image comes from: an archive, an OCI layout, or files.
type Source struct {
	FromFiles
	// Path is the archive or layout; empty for files.
	Path string
}

// Image reads or makes the image.
func (s Source) Image() (v1.Image, error) {
	if s.Path == "" {
		return s.FromFiles.Build()
	}
	info, err := os.Stat(s.Path)
	if err != nil {
		return nil, fmt.Errorf("find the image: %w", err)
	}
	if !info.IsDir() {
		image, err := tarball.ImageFromPath(s.Path, nil)
		if err != nil {
			return nil, fmt.Errorf("read the archive %s: %w", s.Path, err)
		}
		return image, nil
	}
	return fromLayout(s.Path)
}

// fromLayout reads the only image of an OCI layout.
func fromLayout(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read the layout %s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the layout %s has %d images, not one", dir, len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("read the image of %s: %w", dir, err)
	}
	return image, nil
}
