package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

// dialPatience is how long a registry on this machine may take to answer.
const dialPatience = 500 * time.Millisecond

// Address is where the registry of a running cluster listens.
func Address() string {
	return net.JoinHostPort(network.HostAddr.String(), strconv.Itoa(network.RegistryPort))
}

// Pusher puts images into the registry.
type Pusher struct {
	transport http.RoundTripper
}

// NewPusher finds out whether the registry runs, and opens its directory if not.
func NewPusher(dir string) (*Pusher, error) {
	// Without a cluster the address would be asked outside the machine.
	if network.Owner() != "" {
		conn, err := net.DialTimeout("tcp", Address(), dialPatience)
		if err == nil {
			conn.Close()
			return &Pusher{transport: http.DefaultTransport}, nil
		}
	}
	registry, err := Open(dir)
	if err != nil {
		return nil, err
	}
	return &Pusher{transport: inProcess{registry}}, nil
}

// inProcess hands requests to a handler instead of the network.
type inProcess struct{ handler http.Handler }

// RoundTrip answers one request.
func (p inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		request.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	p.handler.ServeHTTP(answer, request)
	response := answer.Result()
	response.Request = request
	return response, nil
}

// Push stores an image under the tags and returns its digest.
func (p *Pusher) Push(ctx context.Context, image v1.Image, repository string, tags ...string) (v1.Hash, error) {
	digest, err := image.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("digest of %s: %w", repository, err)
	}
	for _, tag := range tags {
		reference, err := name.NewTag(Address()+"/"+repository+":"+tag, name.Insecure)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("name of the image: %w", err)
		}
		err = remote.Write(reference, image, remote.WithTransport(p.transport), remote.WithContext(ctx))
		if err != nil {
			return v1.Hash{}, fmt.Errorf("push %s:%s: %w", repository, tag, err)
		}
	}
	return digest, nil
}

// Split takes a name as pods use it apart: redis:8.0 is library/redis and 8.0.
// The registry part of a name is dropped, as the nodes do it.
func Split(image string) (repository, tag string, err error) {
	reference, err := name.NewTag(image)
	if err != nil {
		return "", "", fmt.Errorf("name of the image: %w", err)
	}
	repository = reference.RepositoryStr()
	if repository == "" || strings.Contains(image, "@") {
		return "", "", fmt.Errorf("%q is not a name with a tag, such as holdfast/manager:dev", image)
	}
	return repository, reference.TagStr(), nil
}
