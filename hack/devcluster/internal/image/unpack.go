package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Unpack writes the files of an image below a directory. The directory is an os.Root, so that no link
// in the image leads out of it. Owners and devices are left out: what is unpacked is only to be run.
func Unpack(image v1.Image, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	defer root.Close()
	content := mutate.Extract(image)
	defer content.Close()
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read image: %w", err)
		}
		if err := unpackEntry(root, header, reader); err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, body io.Reader) error {
	name := filepath.Clean("/" + header.Name)[1:]
	if name == "" {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return ignoreExisting(root.Symlink(header.Linkname, name))
	case tar.TypeLink:
		return ignoreExisting(root.Link(filepath.Clean("/" + header.Linkname)[1:], name))
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, header.FileInfo().Mode().Perm()|0o200)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, body)
		return errors.Join(err, file.Close())
	}
	return nil
}

func ignoreExisting(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
