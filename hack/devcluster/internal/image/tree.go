package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

// Entry is one file of an image.
type Entry struct {
	Mode int64
	// Link is the target of a symbolic link; empty for anything else.
	Link string
	Dir  bool
	Body []byte
}

// Tree is the files of an image by absolute path.
type Tree map[string]Entry

// merged are the directories that Debian made links to their namesakes in /usr.
var merged = [...]string{"/bin", "/sbin", "/lib", "/lib64"}

// epoch makes images reproducible: the same files give the same digest.
var epoch = time.Unix(0, 0)

// readPackage reads the files of a Debian package.
func readPackage(ctx context.Context, file string) (Tree, error) {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start dpkg-deb: %w", err)
	}
	tree, err := readTar(stdout)
	_, drain := io.Copy(io.Discard, stdout)
	if err := errors.Join(err, drain, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("unpack %s: %w: %s", path.Base(file), err, strings.TrimSpace(stderr.String()))
	}
	return tree, nil
}

func readTar(r io.Reader) (Tree, error) {
	tree := Tree{}
	reader := tar.NewReader(r)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err != nil {
			return nil, err
		}
		name := usrMerged(path.Join("/", header.Name))
		entry := Entry{Mode: header.Mode & 0o7777}
		switch header.Typeflag {
		case tar.TypeDir:
			entry.Dir = true
		case tar.TypeSymlink:
			entry.Link = header.Linkname
		case tar.TypeLink:
			entry = tree[usrMerged(path.Join("/", header.Linkname))]
		case tar.TypeReg:
			if entry.Body, err = io.ReadAll(reader); err != nil {
				return nil, err
			}
		default:
			continue
		}
		tree[name] = entry
	}
}

func usrMerged(name string) string {
	for _, dir := range merged {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return "/usr" + name
		}
	}
	return name
}

// add puts an entry in, with the directories above it.
func (t Tree) add(name string, entry Entry) {
	t[name] = entry
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if _, found := t[dir]; !found {
			t[dir] = Entry{Dir: true, Mode: 0o755}
		}
	}
}

// drop takes out what matches a pattern.
func (t Tree) drop(patterns []string) {
	for name := range t {
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			matched, err := path.Match(pattern, name)
			return err == nil && matched
		}) {
			delete(t, name)
		}
	}
}

// resolve follows symbolic links to the file that a path stands for.
func (t Tree) resolve(name string) (string, bool) {
	const maxLinks = 16
	for range maxLinks {
		entry, found := t[name]
		if !found {
			return "", false
		}
		if entry.Link == "" {
			return name, true
		}
		name = linkTarget(name, entry.Link)
	}
	return "", false
}

func linkTarget(name, link string) string {
	if path.IsAbs(link) {
		return usrMerged(path.Clean(link))
	}
	return usrMerged(path.Join(path.Dir(name), link))
}

// tar writes the tree in the order of its paths.
func (t Tree) tar() ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := writeEntry(writer, name, t[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return buffer.Bytes(), nil
}

func writeEntry(writer *tar.Writer, name string, entry Entry) error {
	header := &tar.Header{
		Name: strings.TrimPrefix(name, "/"), Mode: entry.Mode, ModTime: epoch, Format: tar.FormatPAX,
	}
	switch {
	case entry.Dir:
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
	case entry.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, entry.Link
	default:
		header.Typeflag, header.Size = tar.TypeReg, int64(len(entry.Body))
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := writer.Write(entry.Body)
	return err
}
