package fakeagent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

func (a *Agent) assignment(w http.ResponseWriter, r *http.Request) {
	var order wire.Assignment
	if !a.receive(w, r, &order) {
		return
	}
	digest, err := order.Digest()
	if err != nil {
		answer(w, http.StatusBadRequest, wire.Error{Code: wire.CodeInvalid, Message: err.Error()})
		return
	}
	a.obey(w, order.Cluster, order.Epoch, func(r *wire.Record) {
		r.AssignmentDigest = digest
		r.Server = wire.Server{Phase: wire.ServerRunning, Instance: max(1, r.Server.Instance)}
		if a.options.Assigned != nil {
			a.options.Assigned(order, r)
		}
	})
}

func (a *Agent) handOver(w http.ResponseWriter, r *http.Request) {
	var order wire.HandOver
	if a.receive(w, r, &order) {
		a.obey(w, order.Cluster, order.Epoch, func(r *wire.Record) { r.AssignmentDigest = "" })
	}
}

func (a *Agent) kill(w http.ResponseWriter, r *http.Request) {
	var order wire.Kill
	if !a.receive(w, r, &order) {
		return
	}
	a.obey(w, order.Cluster, order.Epoch, func(r *wire.Record) {
		r.Server.Phase = wire.ServerDown
		r.Server.KilledEpoch = order.Epoch
		r.AssignmentDigest = ""
	})
}

func (a *Agent) refresh(w http.ResponseWriter, r *http.Request) {
	if !a.receive(w, r, nil) {
		return
	}
	record, _ := a.fresh()
	answer(w, http.StatusOK, record)
}

// receive notes an order and decodes it; false: it has been answered.
func (a *Agent) receive(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	order := Order{Path: r.URL.Path, Body: body, Context: r.Context()}
	a.mu.Lock()
	a.orders = append(a.orders, order)
	a.mu.Unlock()
	if a.options.OnOrder != nil {
		if other := a.options.OnOrder(order); other != nil {
			answer(w, other.Status, other.Body)
			return false
		}
	}
	if into == nil {
		return true
	}
	if err := json.Unmarshal(body, into); err != nil {
		answer(w, http.StatusBadRequest, wire.Error{Code: wire.CodeInvalid, Message: err.Error()})
		return false
	}
	return true
}

// obey carries an order out under the rules that every agent keeps.
func (a *Agent) obey(w http.ResponseWriter, cluster string, epoch int64, effect func(*wire.Record)) {
	now := a.Record()
	switch {
	case cluster != now.Cluster:
		answer(w, http.StatusConflict, wire.Error{Code: wire.CodeWrongCluster, Message: fmt.Sprintf("this is cluster %s", now.Cluster)})
		return
	case epoch < now.Epoch:
		answer(w, http.StatusConflict, wire.Error{Code: wire.CodeStaleEpoch, Epoch: now.Epoch, Message: fmt.Sprintf("epoch %d is older than %d", epoch, now.Epoch)})
		return
	}
	a.Change(func(r *wire.Record) {
		r.Epoch = epoch
		effect(r)
	})
	record, _ := a.fresh()
	answer(w, http.StatusOK, record)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The caller may have gone; then nobody misses the answer.
	_ = json.NewEncoder(w).Encode(body)
}
