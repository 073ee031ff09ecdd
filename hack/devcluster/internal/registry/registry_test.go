package registry

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

const layerSize = 512

func image(t *testing.T) v1.Image {
	t.Helper()
	made, err := random.Image(layerSize, 1)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func push(t *testing.T, dir string, made v1.Image, repository string, tags ...string) {
	t.Helper()
	registry, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	pusher := &Pusher{transport: inProcess{registry}}
	if _, err := pusher.Push(t.Context(), made, repository, tags...); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, path string) *httptest.ResponseRecorder {
	t.Helper()
	registry, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	registry.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func blobCount(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestImagesOutliveTheRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := image(t)
	push(t, dir, made, "library/redis", "8.0.6", "8")
	digest, err := made.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for sentence, path := range map[string]string{
		"by tag":                    "/v2/library/redis/manifests/8",
		"by another tag":            "/v2/library/redis/manifests/8.0.6",
		"by digest":                 "/v2/library/redis/manifests/" + digest.String(),
		"as a mirror of a registry": "/v2/library/redis/manifests/8?ns=registry.example.com",
	} {
		answer := get(t, dir, path)
		if answer.Code != http.StatusOK || answer.Header().Get("Docker-Content-Digest") != digest.String() {
			t.Errorf("%s: %d %s", sentence, answer.Code, answer.Header().Get("Docker-Content-Digest"))
		}
	}
	if !Has(dir, "library/redis", "8") || Has(dir, "library/redis", "9") || Has(dir, "library", "8") {
		t.Error("Has does not tell what there is")
	}
}

func TestBlobsOfReplacedImagesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	push(t, dir, image(t), "holdfast/manager", "dev")
	push(t, dir, image(t), "other", "1")
	before := blobCount(t, dir)
	push(t, dir, image(t), "holdfast/manager", "dev")
	if _, err := Open(dir); err != nil {
		t.Fatal(err)
	}
	if after := blobCount(t, dir); after != before {
		t.Errorf("%d blobs before and %d after an image was replaced", before, after)
	}
}

func TestARegistryWithABrokenManifestSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	push(t, dir, image(t), "a", "1")
	if err := os.WriteFile(filepath.Join(dir, "manifests", "a", "1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Fatal("a broken manifest was taken")
	}
}

func TestNamesAreSplitAsNodesDoIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ name, repository, tag string }{
		"an official image":            {"redis:8.0", "library/redis", "8.0"},
		"no tag":                       {"redis", "library/redis", "latest"},
		"an image of an organisation":  {"holdfast/manager:dev", "holdfast/manager", "dev"},
		"an image of another registry": {"registry.example.com/a/b:1", "a/b", "1"},
		"a digest is no tag":           {"a@sha256:0000", "", ""},
		"capitals":                     {"A:1", "", ""},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			repository, tag, err := Split(c.name)
			if repository != c.repository || tag != c.tag || (err == nil) != (c.tag != "") {
				t.Fatalf("Split(%q) = %q, %q, %v", c.name, repository, tag, err)
			}
		})
	}
}
