package agent

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// probeWithin is how long the loop may take to answer a probe before it counts as stuck.
const probeWithin = time.Second

// probeServer serves the kubelet and Prometheus, without TLS and without orders.
func (a *Agent) probeServer() *http.Server {
	mux := http.NewServeMux()
	// Liveness is the agent's own: no state of the server, the topology or the network may make the
	// kubelet kill what could be the last copy of the data.
	mux.HandleFunc("GET "+naming.PathLive, a.serveProbe(func() string { return "" }))
	mux.HandleFunc("GET "+naming.PathReady, a.serveProbe(func() string {
		if a.m.ready() {
			return ""
		}
		return "the member does not serve in its role"
	}))
	mux.HandleFunc("GET "+naming.PathMetrics, a.serveMetrics)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          quietLog(a.opt.Logger),
	}
}

// serveProbe asks on the loop; an empty word is a pass.
func (a *Agent) serveProbe(ask func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeWithin)
		defer cancel()
		complaint := ""
		if err := a.do(ctx, func() { complaint = ask() }); err != nil {
			complaint = "the agent's loop does not answer: " + err.Error()
		}
		if complaint != "" {
			http.Error(w, complaint, http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}
}
