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

	broken := make(chan struct{})
	go func() {
		defer close(broken)
		a.readEchoes(r.Body)
	}()
	w.Header().Set("Content-Type", "application/x-ndjson")
	writeRecords(w, records, broken)
}

func writeRecords(w http.ResponseWriter, records <-chan wire.Record, broken <-chan struct{}) {
	for {
		select {
		case <-broken:
			return
		case record := <-records:
			if err := writeRecord(w, record); err != nil || record.Final {
				return
			}
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

func (a *Agent) readEchoes(body io.Reader) {
	decoder := json.NewDecoder(body)
	for {
		var e wire.Echo
		if err := decoder.Decode(&e); err != nil {
			return
		}
		a.echoed(time.Duration(e.SentMono))
	}
}
