package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder collects events of many clients. It is safe for concurrent use.
type Recorder struct {
	start time.Time
	ids   atomic.Uint64

	mu     sync.Mutex
	events []Event
	counts Counts
}

// Counts of the operations so far; connections and marks are not operations.
type Counts struct {
	Accepted  int
	Confirmed int
	Failed    int
	Unknown   int
}

// NewRecorder starts the clock of a history.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now is the time since the recorder was made, on its monotonic clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// NextID returns a value that no other operation of this history has.
func (r *Recorder) NextID() uint64 { return r.ids.Add(1) }

// Add stores an event.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.counts.count(e)
}

// Mark notes what the test did at this moment, and returns the moment.
func (r *Recorder) Mark(text string) time.Duration {
	now := r.Now()
	r.Add(Event{Kind: KindMark, Call: now, Return: now, Text: text})
	return now
}

// Events returns a copy of all events so far, in the order in which they ended.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Counts of the operations so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

func (c *Counts) count(e Event) {
	if e.Kind != KindAdd && e.Kind != KindAppend {
		return
	}
	switch e.Outcome {
	case OK:
		c.Accepted++
		if e.Confirmed() {
			c.Confirmed++
		}
	case Fail:
		c.Failed++
	case Info:
		c.Unknown++
	}
}

// Save writes the events to a file, one JSON value a line.
func (r *Recorder) Save(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the directory of the history: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the history file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return Write(f, r.Events())
}

// Write writes events, one JSON value a line.
func Write(w io.Writer, events []Event) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// Read reads what Write wrote.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	decoder := json.NewDecoder(r)
	for {
		var e Event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode event %d: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
}
