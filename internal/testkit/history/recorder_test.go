package history_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

func TestConcurrentClientsGetDistinctIDsAndLoseNoEvent(t *testing.T) {
	t.Parallel()
	const clients, each = 8, 500
	r := history.NewRecorder()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for range each {
				r.Add(history.Event{Client: client, Kind: history.KindAdd, ID: r.NextID(), Outcome: history.OK})
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, e := range r.Events() {
		seen[e.ID] = true
	}
	if len(seen) != clients*each || r.Counts().Accepted != clients*each {
		t.Fatalf("%d distinct ids and %d counted, want %d", len(seen), r.Counts().Accepted, clients*each)
	}
}

func TestCountsTellTheOutcomesApart(t *testing.T) {
	t.Parallel()
	r := history.NewRecorder()
	for _, e := range []history.Event{
		{Kind: history.KindAdd, Outcome: history.OK},
		{Kind: history.KindAdd, Outcome: history.OK, ConfirmedAt: 5},
		{Kind: history.KindAppend, Outcome: history.Fail},
		{Kind: history.KindAppend, Outcome: history.Info, ConfirmedAt: 5},
		{Kind: history.KindConnect, Outcome: history.Fail},
		{Kind: history.KindMark},
	} {
		r.Add(e)
	}
	want := history.Counts{Accepted: 2, Confirmed: 1, Failed: 1, Unknown: 1}
	if got := r.Counts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHistorySurvivesItsFile(t *testing.T) {
	t.Parallel()
	events := []history.Event{
		{Client: 1, Kind: history.KindAppend, Key: "l:1", ID: 9, Call: 10, Return: 20, Outcome: history.OK,
			Replicas: 2, ConfirmedAt: 30, Member: "10.0.0.1:6379", List: []uint64{3, 9}},
		{Kind: history.KindMark, Call: 40, Return: 40, Text: "kill the primary"},
	}
	var buffer bytes.Buffer
	if err := history.Write(&buffer, events); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(&buffer)
	if err != nil || !reflect.DeepEqual(got, events) {
		t.Fatalf("read %+v, %v; want %+v", got, err, events)
	}
	r := history.NewRecorder()
	r.Add(events[0])
	if err := r.Save(filepath.Join(t.TempDir(), "deep", "history.jsonl")); err != nil {
		t.Error(err)
	}
}

func TestDamagedHistoryIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := history.Read(bytes.NewBufferString("{\"id\":1}\n{\"id\":")); err == nil {
		t.Error("a truncated history was read without an error")
	}
}
