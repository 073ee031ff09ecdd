package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/check"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

func added(id uint64, outcome history.Outcome) history.Event {
	return history.Event{Kind: history.KindAdd, Key: "s", ID: id, Outcome: outcome}
}

func confirmed(e history.Event) history.Event {
	e.Outcome, e.Replicas, e.ConfirmedAt = history.OK, 1, time.Second
	return e
}

func appended(id uint64, list ...uint64) history.Event {
	return confirmed(history.Event{Kind: history.KindAppend, Key: "l", ID: id, List: list})
}

func data(set, list []uint64) check.Data {
	return check.Data{Sets: map[string][]uint64{"s": set}, Lists: map[string][]uint64{"l": list}}
}

// Each case but the first is a history that a broken database would leave: the checker must see it.
func TestSeededHistories(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		events  []history.Event
		primary check.Data
		replica check.Data
		want    string // part of the error; empty: clean
	}{
		"clean, with an unknown write there and another one missing": {
			events: []history.Event{confirmed(added(1, history.OK)), added(2, history.Info), added(3, history.Info),
				added(4, history.Fail), appended(5, 5), appended(6, 5, 6)},
			primary: data([]uint64{1, 2}, []uint64{5, 6}), replica: data([]uint64{2, 1}, []uint64{5, 6}),
		},
		"an accepted write that no replica confirmed is gone": {
			events:  []history.Event{added(1, history.OK)},
			primary: data(nil, nil), replica: data(nil, nil),
		},
		"a confirmed write is gone": {
			events:  []history.Event{confirmed(added(1, history.OK)), confirmed(added(2, history.OK))},
			primary: data([]uint64{2}, nil), replica: data([]uint64{2}, nil), want: "1 confirmed writes lost: s, value 1",
		},
		"a confirmed write moved to another key": {
			events:  []history.Event{confirmed(added(1, history.OK))},
			primary: check.Data{Sets: map[string][]uint64{"t": {1}}}, replica: check.Data{Sets: map[string][]uint64{"t": {1}}},
			want: "1 confirmed writes lost",
		},
		"a confirmed append is gone": {
			events:  []history.Event{appended(1, 1), appended(2, 1, 2)},
			primary: data(nil, []uint64{1}), replica: data(nil, []uint64{1}), want: "confirmed writes lost: l, value 2",
		},
		"everything is gone after an empty primary came back": {
			events:  []history.Event{confirmed(added(1, history.OK)), appended(2, 2)},
			primary: data(nil, nil), replica: data(nil, nil), want: "2 confirmed writes lost",
		},
		"a refused write is there": {
			events:  []history.Event{added(1, history.Fail)},
			primary: data([]uint64{1}, nil), replica: data([]uint64{1}, nil), want: "1 refused writes present",
		},
		"a value that nobody wrote": {
			primary: data([]uint64{9}, nil), replica: data([]uint64{9}, nil), want: "1 values that nobody wrote",
		},
		"a retried append is twice in the list": {
			events:  []history.Event{appended(1, 1)},
			primary: data(nil, []uint64{1, 1}), replica: data(nil, []uint64{1, 1}), want: "values twice in a list: l, value 1",
		},
		"two primaries each confirmed another continuation": {
			events:  []history.Event{appended(1, 1), appended(2, 1, 2), appended(3, 1, 3)},
			primary: data(nil, []uint64{1, 2, 3}), replica: data(nil, []uint64{1, 2, 3}), want: "forked lists",
		},
		"the final list does not continue what was confirmed": {
			events:  []history.Event{appended(1, 1), appended(2, 1, 2)},
			primary: data(nil, []uint64{2, 1}), replica: data(nil, []uint64{2, 1}), want: "1 forked lists",
		},
		"a replica misses a value of a set": {
			events:  []history.Event{confirmed(added(1, history.OK))},
			primary: data([]uint64{1}, nil), replica: data(nil, nil), want: "1 differences between members",
		},
		"a replica has a key that the primary has not": {
			primary: check.Data{}, replica: data([]uint64{1}, nil), want: "1 differences between members",
		},
		"a replica has a list in another order": {
			events:  []history.Event{appended(1), appended(2)},
			primary: data(nil, []uint64{1, 2}), replica: data(nil, []uint64{2, 1}), want: "differences between members",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := check.Run(check.Input{Events: c.events, Primary: "p",
				Members: map[string]check.Data{"p": c.primary, "r": c.replica}})
			if err != nil {
				t.Fatal(err)
			}
			switch err := report.Err(); {
			case c.want == "" && err != nil:
				t.Errorf("a clean history was refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestUnconfirmedLossIsCountedAndNoViolation(t *testing.T) {
	t.Parallel()
	report, err := check.Run(check.Input{Events: []history.Event{added(1, history.OK)}, Primary: "p",
		Members: map[string]check.Data{"p": {}}})
	if err != nil || report.LostUnconfirmed != 1 || report.Counts.Accepted != 1 || report.Err() != nil {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestMissingFinalReadIsNoPass(t *testing.T) {
	t.Parallel()
	if _, err := check.Run(check.Input{Primary: "p", Members: map[string]check.Data{"r": {}}}); err == nil {
		t.Error("a judgement without the primary's data was made")
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	ok := func(at, confirmedAt time.Duration) history.Event {
		return history.Event{Kind: history.KindAdd, Outcome: history.OK, Return: at, ConfirmedAt: confirmedAt}
	}
	events := []history.Event{
		ok(1, 2), ok(10, 11), {Kind: history.KindAdd, Outcome: history.Fail, Return: 15},
		ok(50, 0), {Kind: history.KindAdd, Outcome: history.Info, Return: 55}, ok(60, 90), ok(95, 96),
	}
	cases := map[string]struct {
		window              check.Window
		accepted, confirmed check.Silence
	}{
		"the fault lies between the last success and the first one after": {
			check.Window{From: 12, Until: 96}, check.Silence{From: 10, To: 50}, check.Silence{From: 11, To: 90}},
		"nothing succeeded before the window ended": {
			check.Window{From: 12, Until: 40}, check.Silence{From: 10, To: 40, Open: true}, check.Silence{From: 11, To: 40, Open: true}},
		"accepted again, never confirmed": {
			check.Window{From: 12, Until: 70}, check.Silence{From: 10, To: 50}, check.Silence{From: 11, To: 70, Open: true}},
		"no success at all before": {
			check.Window{From: 0, Until: 5}, check.Silence{From: 1, To: 5, Open: true}, check.Silence{From: 2, To: 5, Open: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := check.Gaps(events, c.window)
			if got.Accepted != c.accepted || got.Confirmed != c.confirmed {
				t.Errorf("got %+v, want %+v and %+v", got, c.accepted, c.confirmed)
			}
		})
	}
}
