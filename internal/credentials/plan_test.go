package credentials_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/credentials"
)

const grace = 10 * time.Minute

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// step is one visit of the reconciler: what it finds, and what must come of it.
type step struct {
	after      time.Duration // since the first step
	password   string        // in the Secret; "-": there is no Secret
	everywhere string        // passwords that every member accepts, by letter
	accepted   string        // wanted, by letter, the current first
	phase      credentials.Phase
	wakeAfter  time.Duration
	transition credentials.Transition // of this step, if any
}

func TestPasswordsOverlap(t *testing.T) {
	t.Parallel()
	cases := map[string][]step{
		"the first password is alone": {
			{password: "a", accepted: "a", phase: credentials.PhaseSpreading},
			{after: time.Minute, password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
		},
		"a change keeps the old password until the grace after the last member is over": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{after: 1 * time.Minute, password: "b", everywhere: "a", accepted: "ba", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
			{after: 3 * time.Hour, password: "b", everywhere: "a", accepted: "ba", phase: credentials.PhaseSpreading},
			{after: 4 * time.Hour, password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace},
			{after: 4*time.Hour + grace - time.Second, password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: time.Second},
			{after: 4*time.Hour + grace, password: "b", everywhere: "ab", accepted: "b", phase: credentials.PhaseSettled, transition: credentials.TransitionRetired},
		},
		"a member that falls back during the grace does not start it again": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: time.Minute, password: "b", everywhere: "", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace - time.Minute},
			{after: grace, password: "b", everywhere: "b", accepted: "b", phase: credentials.PhaseSettled, transition: credentials.TransitionRetired},
		},
		"two quick changes keep all three": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "a", accepted: "ba", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
			{password: "c", everywhere: "a", accepted: "cba", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
			{after: time.Minute, password: "c", everywhere: "abc", accepted: "cba", phase: credentials.PhaseGrace, wakeAfter: grace},
			{after: time.Minute + grace, password: "c", everywhere: "abc", accepted: "c", phase: credentials.PhaseSettled, transition: credentials.TransitionRetired},
		},
		"three quick changes give up the one that no member was known to accept": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "a", accepted: "ba", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
			{password: "c", everywhere: "a", accepted: "cba", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
			{password: "d", everywhere: "a", accepted: "dca", phase: credentials.PhaseSpreading, transition: credentials.TransitionChanged},
		},
		"three slow changes give up the oldest": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: time.Minute, password: "c", everywhere: "abc", accepted: "cba", phase: credentials.PhaseGrace, wakeAfter: grace - time.Minute, transition: credentials.TransitionChanged},
			{after: 2 * time.Minute, password: "d", everywhere: "abc", accepted: "dcb", phase: credentials.PhaseSpreading, wakeAfter: grace - time.Minute, transition: credentials.TransitionChanged},
		},
		"a password whose grace runs retires while a newer one is spreading": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: 5 * time.Minute, password: "c", everywhere: "ab", accepted: "cba", phase: credentials.PhaseSpreading, wakeAfter: grace - 5*time.Minute, transition: credentials.TransitionChanged},
			{after: grace, password: "c", everywhere: "ab", accepted: "cb", phase: credentials.PhaseSpreading, transition: credentials.TransitionRetired},
			{after: grace, password: "c", everywhere: "bc", accepted: "cb", phase: credentials.PhaseGrace, wakeAfter: grace},
		},
		"a change that is taken back swaps the two": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: time.Minute, password: "a", everywhere: "ab", accepted: "ab", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: time.Minute + grace, password: "a", everywhere: "ab", accepted: "a", phase: credentials.PhaseSettled, transition: credentials.TransitionRetired},
		},
		"a Secret that is deleted takes nothing away": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{after: time.Hour, password: "-", everywhere: "a", accepted: "a", phase: credentials.PhaseSecretInvalid},
			{after: 2 * time.Hour, password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
		},
		"a Secret that is deleted during the grace lets the grace run": {
			{password: "a", everywhere: "a", accepted: "a", phase: credentials.PhaseSettled},
			{password: "b", everywhere: "ab", accepted: "ba", phase: credentials.PhaseGrace, wakeAfter: grace, transition: credentials.TransitionChanged},
			{after: time.Minute, password: "-", everywhere: "ab", accepted: "ba", phase: credentials.PhaseSecretInvalid, wakeAfter: grace - time.Minute},
			{after: grace, password: "-", everywhere: "ab", accepted: "b", phase: credentials.PhaseSecretInvalid, transition: credentials.TransitionRetired},
		},
		"without a Secret there is never a password": {
			{password: "-", accepted: "", phase: credentials.PhaseSecretInvalid},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var data map[string][]byte
			for i, s := range steps {
				data = s.run(t, i, data)
			}
		})
	}
}

// run visits once, with the internal Secret going through its encoded form, and once more to see
// that nothing is left to do.
func (s step) run(t *testing.T, index int, data map[string][]byte) map[string][]byte {
	t.Helper()
	stored, err := credentials.Decode(data)
	if err != nil {
		t.Fatalf("step %d: decode: %v", index, err)
	}
	in := credentials.Input{
		SecretName: "shop-auth", Source: credentials.SourceGiven, Stored: stored,
		Everywhere: hashes(s.everywhere), Grace: grace, Random: rand.Reader,
	}
	if s.password != "-" {
		in.Secret = map[string][]byte{"password": []byte(s.password)}
	}
	now := start.Add(s.after)
	got := plan(t, now, in)
	if want := hashes(s.accepted); !slices.Equal(got.Accepted, want) {
		t.Errorf("step %d: accepted %v, want %v", index, got.Accepted, want)
	}
	if got.Phase != s.phase || got.WakeAfter != s.wakeAfter {
		t.Errorf("step %d: phase %s for %s, want %s for %s (%s)", index, got.Phase, got.WakeAfter, s.phase, s.wakeAfter, got.Message)
	}
	if s.transition == "" && len(got.Transitions) > 0 || s.transition != "" && !slices.Contains(got.Transitions, s.transition) {
		t.Errorf("step %d: transitions %v, want %q", index, got.Transitions, s.transition)
	}
	encoded, err := got.Stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if changed := !cmp.Equal(encoded, data); changed != got.Changed {
		t.Errorf("step %d: Changed is %t, the encoded form says %t", index, got.Changed, changed)
	}

	in.Stored = got.Stored
	again := plan(t, now, in)
	if again.Changed || len(again.Transitions) > 0 {
		t.Errorf("step %d: the plan is not stable: %+v", index, again.Transitions)
	}
	return encoded
}

func plan(t *testing.T, now time.Time, in credentials.Input) credentials.Result {
	t.Helper()
	r, err := credentials.Plan(now, in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hashes(letters string) []string {
	var all []string
	for _, letter := range strings.Split(letters, "") {
		all = append(all, credentials.Hash(letter))
	}
	return all
}

func TestWhatASecretMayHold(t *testing.T) {
	t.Parallel()
	const kept = " The passwords known before stay valid."
	cases := map[string]struct {
		secret  map[string][]byte
		want    string // accepted as current
		message string // of the invalid
	}{
		"plain":                                {secret: map[string][]byte{"password": []byte("s3cret")}, want: "s3cret"},
		"one trailing newline is taken off":    {secret: map[string][]byte{"password": []byte("s3cret\n")}, want: "s3cret"},
		"spaces are part of it":                {secret: map[string][]byte{"password": []byte(" s3 cret ")}, want: " s3 cret "},
		"letters of any script":                {secret: map[string][]byte{"password": []byte("Schlüssel")}, want: "Schlüssel"},
		"a second trailing newline is refused": {secret: map[string][]byte{"password": []byte("s3cret\n\n")}, message: `Secret "app" has a control character in the password under the key "password".`},
		"a carriage return is refused":         {secret: map[string][]byte{"password": []byte("s3cret\r\n")}, message: `Secret "app" has a control character in the password under the key "password".`},
		"a zero byte is refused":               {secret: map[string][]byte{"password": []byte("s3\x00cret")}, message: `Secret "app" has a control character in the password under the key "password".`},
		"empty":                                {secret: map[string][]byte{"password": {}}, message: `Secret "app" has an empty password under the key "password".`},
		"nothing but a newline":                {secret: map[string][]byte{"password": []byte("\n")}, message: `Secret "app" has an empty password under the key "password".`},
		"another key":                          {secret: map[string][]byte{"pass": []byte("s3cret")}, message: `Secret "app" has no key "password".`},
		"no keys at all":                       {secret: map[string][]byte{}, message: `Secret "app" has no key "password".`},
		"no Secret":                            {secret: nil, message: `Secret "app" does not exist.`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := credentials.Hash("old")
			in := credentials.Input{
				SecretName: "app", Secret: c.secret, Source: credentials.SourceGiven, Random: rand.Reader, Grace: grace,
				Stored: credentials.Stored{Replication: "r", Current: &credentials.Entry{Hash: old, Since: start, AppliedAt: start}},
			}
			got := plan(t, start, in)
			if c.message == "" {
				if want := []string{credentials.Hash(c.want), old}; !slices.Equal(got.Accepted, want) {
					t.Errorf("accepted %v, want the new and the old", got.Accepted)
				}
				return
			}
			if !slices.Equal(got.Accepted, []string{old}) || got.Phase != credentials.PhaseSecretInvalid || got.Changed {
				t.Errorf("an unusable Secret changed something: %+v", got)
			}
			if got.Message != c.message+kept {
				t.Errorf("message %q, want %q", got.Message, c.message+kept)
			}
		})
	}
}

func TestAGeneratedPasswordIsMadeOnceAndComesBack(t *testing.T) {
	t.Parallel()
	in := credentials.Input{SecretName: "shop-auth", Source: credentials.SourceGenerated, Grace: grace, Random: rand.Reader}
	first := plan(t, start, in)
	if len(first.Secret) < 22 || len(first.Stored.Replication) < 22 {
		t.Fatalf("passwords of %d and %d characters hold fewer than 128 bits", len(first.Secret), len(first.Stored.Replication))
	}
	if first.Secret == first.Stored.Replication {
		t.Fatal("the application and the replicas share a password")
	}

	in.Stored, in.Random = first.Stored, failing{}
	missing := plan(t, start.Add(time.Hour), in)
	if missing.Secret != first.Secret || missing.Changed {
		t.Errorf("a Secret that was deleted, or not in the cache, gets another password: %+v", missing.Transitions)
	}

	in.Secret = map[string][]byte{"password": []byte("chosen by hand")}
	changed := plan(t, start.Add(2*time.Hour), in)
	if changed.Secret != "" || changed.Accepted[0] != credentials.Hash("chosen by hand") {
		t.Error("a password changed in the generated Secret is not taken up")
	}

	in.Stored, in.Secret = changed.Stored, nil
	back := plan(t, start.Add(3*time.Hour), in)
	if back.Secret != "chosen by hand" || back.Changed {
		t.Error("the Secret did not come back with the password that it held last")
	}
}

func TestAGivenSecretIsNotCopied(t *testing.T) {
	t.Parallel()
	in := credentials.Input{
		SecretName: "app", Source: credentials.SourceGiven, Secret: map[string][]byte{"password": []byte("canary")},
		Stored: credentials.Stored{Replication: "r", Application: "earlier, generated"}, Grace: grace, Random: failing{},
	}
	got := plan(t, start, in)
	data, err := got.Stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range data {
		if bytes.Contains(value, []byte("canary")) || bytes.Contains(value, []byte("earlier")) {
			t.Errorf("key %s holds an application's password in the clear", key)
		}
	}
	if strings.Contains(got.Message, "canary") {
		t.Error("the message shows the password")
	}
}

func TestRandomnessThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := credentials.Plan(start, credentials.Input{Source: credentials.SourceGenerated, Random: failing{}}); err == nil {
		t.Error("a password was made of nothing")
	}
}

func TestPlanLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	stored := credentials.Stored{
		Replication: "r",
		Current:     &credentials.Entry{Hash: credentials.Hash("b"), Since: start},
		Previous:    []credentials.Entry{{Hash: credentials.Hash("a"), Since: start}},
	}
	before, err := stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	plan(t, start, credentials.Input{
		Source: credentials.SourceGiven, Stored: stored, Everywhere: hashes("b"), Random: failing{},
		Secret: map[string][]byte{"password": []byte("b")},
	})
	after, err := stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the input changed:\n%s", diff)
	}
}

func TestCommon(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		members [][]string
		want    []string
	}{
		"nobody accepts nothing":        {members: nil, want: nil},
		"one member":                    {members: [][]string{{"a", "b"}}, want: []string{"a", "b"}},
		"only what all accept":          {members: [][]string{{"a", "b"}, {"b", "c"}, {"b"}}, want: []string{"b"}},
		"a member that accepts nothing": {members: [][]string{{"a"}, nil}, want: []string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := credentials.Common(c.members); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errRandom }

var errRandom = errors.New("no randomness")
