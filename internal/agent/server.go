package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// maxBody bounds what a caller may send.
const maxBody = 1 << 20

// orderServer serves the manager and the peers.
func (a *Agent) orderServer() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("POST "+wire.PathStream, managerOnly(a.serveStream))
	mux.Handle("PUT "+wire.PathAssignment, managerOnly(serveOrder(a.assign)))
	mux.Handle("POST "+wire.PathHandOver, managerOnly(serveOrder(a.handOverTo)))
	mux.Handle("POST "+wire.PathKill, managerOnly(serveOrder(a.kill)))
	mux.Handle("POST "+wire.PathRefresh, managerOnly(a.serveRefresh))
	mux.Handle("POST "+wire.PathPeer, serveOrder(a.greet))
	return &http.Server{
		Handler:           mux,
		TLSConfig:         a.opt.TLS.server(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          quietLog(a.opt.Logger),
		HTTP2: &http.HTTP2Config{
			// A peer that vanished without a word must not hold a connection for long.
			SendPingTimeout:  5 * time.Second,
			PingTimeout:      5 * time.Second,
			WriteByteTimeout: 5 * time.Second,
			// Records are small; the default buffers are most of the agent's memory.
			MaxConcurrentStreams:          32,
			MaxReceiveBufferPerConnection: 1 << 17,
			MaxReceiveBufferPerStream:     1 << 16,
		},
	}
}

// managerOnly lets nobody but the manager give orders: the certificates of the cluster's authority
// also belong to the agents.
func managerOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name := callerName(r); name != wire.CommonNameManager {
			refuse(w, &Refusal{http.StatusForbidden, wire.Error{Code: wire.CodeForbidden, Message: "only the manager may do this"}})
			return
		}
		next(w, r)
	}
}

func callerName(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return ""
	}
	return r.TLS.PeerCertificates[0].Subject.CommonName
}

// serveOrder decodes an order, obeys it and encodes the answer.
func serveOrder[Order, Answer any](obey func(context.Context, Order) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var order Order
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&order); err != nil {
			refuse(w, invalid("read the order: "+err.Error()))
			return
		}
		answer, err := obey(r.Context(), order)
		respond(w, answer, err)
	}
}

func (a *Agent) serveRefresh(w http.ResponseWriter, r *http.Request) {
	record, err := a.refresh(r.Context())
	respond(w, record, err)
}

func respond(w http.ResponseWriter, answer any, err error) {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		refuse(w, refusal)
	case err != nil:
		refuse(w, &Refusal{http.StatusServiceUnavailable, wire.Error{Code: wire.CodeEngine, Message: err.Error()}})
	default:
		w.Header().Set("Content-Type", "application/json")
		// The caller is gone if this fails.
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func refuse(w http.ResponseWriter, r *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	_ = json.NewEncoder(w).Encode(r.Answer)
}
