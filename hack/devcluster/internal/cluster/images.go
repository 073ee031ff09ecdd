package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/debian"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/image"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/versions"
)

// Names of the images that the cluster itself runs, as nodes know them.
const (
	pauseImage   = image.PauseRepository + ":" + image.PauseTag
	coreDNSImage = image.CoreDNSRepository + ":" + image.CoreDNSTag
)

// ImageRecord says what an image was made of, for those who ask later.
type ImageRecord struct {
	Repository string   `json:"repository"`
	Recipe     string   `json:"recipe"`
	Version    string   `json:"version"`
	Tags       []string `json:"tags"`
	Digest     string   `json:"digest"`
}

// Names are the image's names as pods use them.
func (r ImageRecord) Names() []string {
	names := make([]string, 0, len(r.Tags))
	for _, tag := range r.Tags {
		names = append(names, strings.TrimPrefix(r.Repository, "library/")+":"+tag)
	}
	return names
}

// EnsureImages makes the images that are not in the registry.
func (c *Cluster) EnsureImages(ctx context.Context) error {
	unlock, err := state.Lock(c.Dirs.Registry(), c.sayWaiting)
	if err != nil {
		return err
	}
	defer unlock()
	pusher, err := registry.NewPusher(c.Dirs.Registry())
	if err != nil {
		return err
	}
	if err := c.ensureOwnImages(ctx, pusher); err != nil {
		return err
	}
	return c.ensureDatabases(ctx, pusher)
}

// EnsureDatabases makes the database images alone that are not in the registry.
func (c *Cluster) EnsureDatabases(ctx context.Context) error {
	unlock, err := state.Lock(c.Dirs.Registry(), c.sayWaiting)
	if err != nil {
		return err
	}
	defer unlock()
	pusher, err := registry.NewPusher(c.Dirs.Registry())
	if err != nil {
		return err
	}
	return c.ensureDatabases(ctx, pusher)
}

func (c *Cluster) ensureOwnImages(ctx context.Context, pusher *registry.Pusher) error {
	for _, own := range []struct{ repository, tag, binary string }{
		{image.PauseRepository, image.PauseTag, "pause"},
		{image.CoreDNSRepository, image.CoreDNSTag, "coredns"},
	} {
		if registry.Has(c.Dirs.Registry(), own.repository, own.tag) {
			continue
		}
		target := "/" + own.binary
		files := image.FromFiles{
			Files: map[string]string{target: c.binaries[own.binary]}, Entrypoint: []string{target},
		}
		err := c.Progress.Step("image "+own.repository+":"+own.tag, func() error {
			built, err := files.Build()
			if err != nil {
				return err
			}
			_, err = pusher.Push(ctx, built, own.repository, own.tag)
			return err
		})
		if err != nil {
			return fmt.Errorf("make image %s: %w", own.repository, err)
		}
	}
	return nil
}

func (c *Cluster) ensureDatabases(ctx context.Context, pusher *registry.Pusher) error {
	var missing []image.Recipe
	for _, recipe := range image.Recipes() {
		if !c.upToDate(recipe) {
			missing = append(missing, recipe)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	suite := debian.Suite{Name: versions.DebianSuite, Dir: c.Dirs.Debian()}
	if err := c.Progress.Step("package lists of Debian "+suite.Name, func() error { return suite.Update(ctx) }); err != nil {
		return err
	}
	for _, recipe := range missing {
		var record ImageRecord
		err := c.Progress.Step("image "+path.Base(recipe.Repository), func() error {
			var err error
			record, err = c.makeDatabase(ctx, pusher, suite, recipe)
			return err
		})
		if err != nil {
			return fmt.Errorf("make image %s: %w", recipe.Repository, err)
		}
		c.Progress.Note("    %s", strings.Join(record.Names(), "  "))
	}
	return suite.Clean()
}

func (c *Cluster) makeDatabase(ctx context.Context, pusher *registry.Pusher, suite debian.Suite, recipe image.Recipe) (ImageRecord, error) {
	built, err := recipe.Build(ctx, suite)
	if err != nil {
		return ImageRecord{}, err
	}
	tags := image.Tags(built.Version)
	digest, err := pusher.Push(ctx, built.Image, recipe.Repository, tags...)
	if err != nil {
		return ImageRecord{}, err
	}
	record := ImageRecord{
		Repository: recipe.Repository, Recipe: versions.Images, Version: built.Version, Tags: tags, Digest: digest.String(),
	}
	return record, record.save(c.recordFile(recipe.Repository))
}

func (c *Cluster) recordFile(repository string) string {
	return filepath.Join(c.Dirs.Registry(), "records", strings.ReplaceAll(repository, "/", "_")+".json")
}

func (r ImageRecord) save(file string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of %s: %w", r.Repository, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("record %s: %w", r.Repository, err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return fmt.Errorf("record %s: %w", r.Repository, err)
	}
	return nil
}

// upToDate says whether the registry has the image by its present recipe.
func (c *Cluster) upToDate(recipe image.Recipe) bool {
	record, err := readRecord(c.recordFile(recipe.Repository))
	if err != nil || record.Recipe != versions.Images {
		return false
	}
	for _, tag := range record.Tags {
		if !registry.Has(c.Dirs.Registry(), record.Repository, tag) {
			return false
		}
	}
	return true
}

func readRecord(file string) (ImageRecord, error) {
	var record ImageRecord
	content, err := os.ReadFile(file)
	if err != nil {
		return record, fmt.Errorf("read the record of an image: %w", err)
	}
	if err := json.Unmarshal(content, &record); err != nil {
		return record, fmt.Errorf("decode the record of an image: %w", err)
	}
	return record, nil
}

// Images lists the images of databases that the registry has.
func (c *Cluster) Images() []ImageRecord {
	var records []ImageRecord
	for _, recipe := range image.Recipes() {
		if record, err := readRecord(c.recordFile(recipe.Repository)); err == nil {
			records = append(records, record)
		}
	}
	return records
}
