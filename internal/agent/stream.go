package agent

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// recordWithin bounds how long the network may take to accept one record.
const recordWithin = 3 * time.Second

// lastEchoWithin bounds how long the end of the agent waits for the manager to have its last record.
const lastEchoWithin = 500 * time.Millisecond

// serveStream writes records until the stream breaks or the last one is written, and reads echoes.
func (a *Agent) serveStream(w http.ResponseWriter, r *http.Request) {
	records := make(chan wire.Record, 1)
	err := a.do(r.Context(), func() {
		a.readers[records] = struct{}{}
		replace(records, a.journal.write(a.m, a.opt.Clock.Now()))
	})
	if err != nil {
		respond(w, nil, err)
		return
	}
	defer a.post(func() { delete(a.readers, records) })

	echoes := make(chan wire.Echo, 1)
	go func() {
		defer close(echoes)
		a.readEchoes(r.Body, echoes)
	}()
	w.Header().Set("Content-Type", "application/x-ndjson")
	writeRecords(w, records, echoes)
}

func writeRecords(w http.ResponseWriter, records <-chan wire.Record, echoes <-chan wire.Echo) {
	for {
		select {
		case _, open := <-echoes:
			if !open {
				return
			}
		case record := <-records:
			if err := writeRecord(w, record); err != nil {
				return
			}
			if record.Final {
				awaitEcho(echoes, record.SentMono)
				return
			}
		}
	}
}

// awaitEcho waits until the manager has the last record. A connection that is closed while echoes
// of earlier records are still coming in is reset, and the last record could be lost with it.
func awaitEcho(echoes <-chan wire.Echo, sent int64) {
	late := time.After(lastEchoWithin)
	for {
		select {
		case e, open := <-echoes:
			if !open || e.SentMono >= sent {
				return
			}
		case <-late:
			return
		}
	}
}

func writeRecord(w http.ResponseWriter, record wire.Record) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(recordWithin)); err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(record); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	// A deadline left in force would break the stream of an agent that is frozen for a while.
	return control.SetWriteDeadline(time.Time{})
}

// readEchoes notes every echo and passes on the newest.
func (a *Agent) readEchoes(body io.Reader, newest chan wire.Echo) {
	decoder := json.NewDecoder(body)
	for {
		var e wire.Echo
		if err := decoder.Decode(&e); err != nil {
			return
		}
		a.echoed(time.Duration(e.SentMono))
		replace(newest, e)
	}
}
