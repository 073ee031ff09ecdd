package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Tunnels keeps one tunnel for each pod. It is safe for concurrent use.
type Tunnels struct {
	config    *rest.Config
	clientset kubernetes.Interface

	mu   sync.Mutex
	open map[types.UID]*one
}

// one is a tunnel to one pod.
type one struct {
	address string
	stop    chan struct{}
	ended   chan struct{}
}

// New makes an empty set of tunnels.
func New(config *rest.Config, clientset kubernetes.Interface) *Tunnels {
	return &Tunnels{config: config, clientset: clientset, open: map[types.UID]*one{}}
}

// Dial connects to the database of a pod.
func (t *Tunnels) Dial(ctx context.Context, pod *corev1.Pod) (net.Conn, error) {
	tunnel, err := t.to(ctx, pod)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", tunnel.address)
	if err != nil {
		return nil, fmt.Errorf("dial through the tunnel to %s: %w", pod.Name, err)
	}
	return conn, nil
}

// Close ends all tunnels.
func (t *Tunnels) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, tunnel := range t.open {
		close(tunnel.stop)
		<-tunnel.ended
		delete(t.open, uid)
	}
}

// to returns the tunnel to a pod, and opens a new one if the last one has ended.
func (t *Tunnels) to(ctx context.Context, pod *corev1.Pod) (*one, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tunnel, ok := t.open[pod.UID]; ok {
		select {
		case <-tunnel.ended:
			delete(t.open, pod.UID)
		default:
			return tunnel, nil
		}
	}
	tunnel, err := t.dig(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("open a tunnel to %s: %w", pod.Name, err)
	}
	t.open[pod.UID] = tunnel
	return tunnel, nil
}

func (t *Tunnels) dig(ctx context.Context, pod *corev1.Pod) (*one, error) {
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return nil, err
	}
	url := t.clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	tunnel := &one{stop: make(chan struct{}), ended: make(chan struct{})}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(int(naming.RedisPort))},
		tunnel.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	go func() {
		defer close(tunnel.ended)
		failed <- forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case err := <-failed:
		return nil, errors.Join(errors.New("the tunnel ended"), err)
	case <-ctx.Done():
		close(tunnel.stop)
		return nil, ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(tunnel.stop)
		return nil, err
	}
	tunnel.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
	return tunnel, nil
}
