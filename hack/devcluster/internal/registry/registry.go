package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	upstream "github.com/google/go-containerregistry/pkg/registry"
)

// Registry serves images from a directory.
type Registry struct {
	dir     string
	handler http.Handler
}

// Open reads the registry in dir. Blobs that no manifest needs any more are
// removed: every build of an image leaves some behind.
func Open(dir string) (*Registry, error) {
	r := &Registry{dir: dir}
	for _, sub := range []string{r.blobs(), r.manifests()} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return nil, fmt.Errorf("make the registry's directory: %w", err)
		}
	}
	r.handler = upstream.New(
		upstream.WithBlobHandler(upstream.NewDiskBlobHandler(r.blobs())),
		upstream.Logger(log.New(io.Discard, "", 0)),
	)
	if err := r.replay(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Registry) blobs() string     { return filepath.Join(r.dir, "blobs") }
func (r *Registry) manifests() string { return filepath.Join(r.dir, "manifests") }

// ServeHTTP answers as a registry does, and writes down every manifest that was
// accepted.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	repository, reference, isManifest := manifestPath(request.URL.Path)
	if request.Method != http.MethodPut || !isManifest {
		r.handler.ServeHTTP(w, request)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	r.handler.ServeHTTP(answer, request)
	if answer.status == http.StatusCreated {
		if err := r.save(repository, reference, body); err != nil {
			log.Printf("keep manifest %s:%s: %v", repository, reference, err)
		}
	}
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// manifestPath splits /v2/REPOSITORY/manifests/REFERENCE.
func manifestPath(path string) (repository, reference string, ok bool) {
	trimmed, found := strings.CutPrefix(path, "/v2/")
	if !found {
		return "", "", false
	}
	at := strings.LastIndex(trimmed, "/manifests/")
	if at < 0 {
		return "", "", false
	}
	return trimmed[:at], trimmed[at+len("/manifests/"):], true
}

func (r *Registry) save(repository, reference string, body []byte) error {
	dir := filepath.Join(r.manifests(), url.PathEscape(repository))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	target := filepath.Join(dir, url.PathEscape(reference))
	if err := os.WriteFile(target+".part", body, 0o644); err != nil {
		return err
	}
	return os.Rename(target+".part", target)
}

// Has says whether the registry knows an image of that name.
func Has(dir, repository, tag string) bool {
	_, err := os.Stat(filepath.Join(dir, "manifests", url.PathEscape(repository), url.PathEscape(tag)))
	return err == nil
}

// replay hands the manifests on disk to the handler, which keeps them in memory.
func (r *Registry) replay() error {
	needed := map[string]bool{}
	err := filepath.WalkDir(r.manifests(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".part") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		repository, err := url.PathUnescape(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return err
		}
		reference, err := url.PathUnescape(filepath.Base(path))
		if err != nil {
			return err
		}
		if err := r.restore(repository, reference, body); err != nil {
			return err
		}
		return noteBlobs(body, needed)
	})
	if err != nil {
		return fmt.Errorf("read the registry's manifests: %w", err)
	}
	return r.collect(needed)
}

type manifest struct {
	MediaType string `json:"mediaType"`
	Config    blob   `json:"config"`
	Layers    []blob `json:"layers"`
}

type blob struct {
	Digest string `json:"digest"`
}

func (r *Registry) restore(repository, reference string, body []byte) error {
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("decode manifest %s:%s: %w", repository, reference, err)
	}
	request := httptest.NewRequest(http.MethodPut, "/v2/"+repository+"/manifests/"+reference, bytes.NewReader(body))
	request.Header.Set("Content-Type", m.MediaType)
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("restore manifest %s:%s: %s", repository, reference, strings.TrimSpace(answer.Body.String()))
	}
	return nil
}

func noteBlobs(body []byte, needed map[string]bool) error {
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	for _, b := range append(m.Layers, m.Config) {
		_, hex, _ := strings.Cut(b.Digest, ":")
		needed[hex] = true
	}
	return nil
}

// collect removes the blobs that no manifest names.
func (r *Registry) collect(needed map[string]bool) error {
	return filepath.WalkDir(r.blobs(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || needed[entry.Name()] {
			return err
		}
		return os.Remove(path)
	})
}
