package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// startAgent lets an agent listen under the pod's address, with the certificate that the manager
// made for the cluster.
func (w *world) startAgent(ctx context.Context, c *cluster, pod *corev1.Pod) error {
	config, err := w.agentTLS(ctx, c)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(naming.AgentPort)))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen as the agent of %s: %w", pod.Name, err)
	}
	m := c.join(pod)
	m.agent = fakeagent.New(fakeagent.Options{
		TLS: config, Heartbeat: wire.HeartbeatInterval, Assigned: m.assigned, Refresh: m.refresh,
		Record: wire.Record{
			AgentVersion: "simulated", AgentInstance: "agent of " + m.podUID, PodUID: m.podUID, Cluster: c.uid, Material: 1,
			Server: wire.Server{Phase: wire.ServerWaiting},
		},
	})
	go func() {
		if err := m.agent.Serve(listener); err != nil {
			say("agent of %s: %v", pod.Name, err)
		}
	}()
	return nil
}

// agentTLS is what the agents of a cluster would find mounted.
func (w *world) agentTLS(ctx context.Context, c *cluster) (*tls.Config, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.namespace, Name: naming.AgentTLSSecret(c.name)}
	if err := w.server.client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("read the agents' Secret: %w", err)
	}
	pair, err := tls.X509KeyPair(secret.Data[naming.KeyTLSCert], secret.Data[naming.KeyTLSKey])
	if err != nil {
		return nil, fmt.Errorf("read the agents' certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data[naming.KeyCACert]) {
		return nil, errors.New("read the agents' certificate: there is no authority")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
