package image

import (
	"fmt"
	"os"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// searchPath is the PATH inside the images.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// certificates is where Go programs look for authorities first.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// NonRootUser is the number that images from files run as.
const NonRootUser = "65532"

// build packs a tree into an image of one layer.
func build(tree Tree, config v1.Config) (v1.Image, error) {
	content, err := tree.tar()
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(content, types.OCIUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file = file.DeepCopy()
	// Without these containerd says that the image might be filtered out.
	file.OS, file.Architecture = "linux", runtime.GOARCH
	config.Env = append(config.Env, searchPath)
	file.Config = config
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return image, nil
}

// FromFiles describes an image made of files of this machine.
type FromFiles struct {
	// Files maps paths in the image to paths on this machine.
	Files map[string]string
	// Entrypoint is the program that the image runs.
	Entrypoint []string
	User       string
}

// Build makes the image: the files, the machine's certificate authorities and a
// folder for temporary files, nothing else.
func (f FromFiles) Build() (v1.Image, error) {
	tree := Tree{}
	tree.add("/tmp", Entry{Dir: true, Mode: 0o1777})
	addAccounts(tree)
	if body, err := os.ReadFile(certificates); err == nil {
		tree.add(certificates, Entry{Mode: 0o644, Body: body})
	}
	for target, source := range f.Files {
		body, err := os.ReadFile(source)
		if err != nil {
			return nil, fmt.Errorf("read a file for the image: %w", err)
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, fmt.Errorf("read a file for the image: %w", err)
		}
		// Readable by everyone, whatever the umask of the builder was.
		tree.add(target, Entry{Mode: int64(info.Mode().Perm() | 0o444), Body: body})
	}
	if len(f.Entrypoint) > 0 && !hasEntry(tree, f.Entrypoint[0]) {
		return nil, fmt.Errorf("the entry point %s is not among the files of the image", f.Entrypoint[0])
	}
	return build(tree, v1.Config{Entrypoint: f.Entrypoint, User: f.User, WorkingDir: "/"})
}

// addAccounts names the users that programs may want to look up.
func addAccounts(tree Tree) {
	tree.add("/etc/passwd", Entry{Mode: 0o644, Body: []byte("root:x:0:0:root:/:/bin/sh\n" +
		"database:x:" + databaseUser + ":" + databaseUser + ":database:/:/bin/sh\n" +
		"nonroot:x:" + NonRootUser + ":" + NonRootUser + ":nonroot:/:/bin/sh\n")})
	tree.add("/etc/group", Entry{Mode: 0o644, Body: []byte("root:x:0:\n" +
		"database:x:" + databaseUser + ":\nnonroot:x:" + NonRootUser + ":\n")})
}
