package credentials_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/credentials"
)

func TestStoredSurvivesItsSecret(t *testing.T) {
	t.Parallel()
	a, b, c := credentials.Hash("a"), credentials.Hash("b"), credentials.Hash("c")
	cases := map[string]credentials.Stored{
		"nothing":                   {},
		"passwords of the operator": {Replication: "r", Application: "g"},
		"in the middle of a change": {
			Replication: "r",
			Current:     &credentials.Entry{Hash: c, Since: start},
			Previous: []credentials.Entry{
				{Hash: b, Since: start, AppliedAt: start},
				{Hash: a, Since: start, AppliedAt: start, GraceFrom: start},
			},
		},
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := want.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := credentials.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("came back different:\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeReadIsToldAndHealed(t *testing.T) {
	t.Parallel()
	good := credentials.Hash("a")
	cases := map[string]struct {
		data map[string][]byte
		want string // in the error
	}{
		"no JSON":                {data: map[string][]byte{"passwords": []byte("{")}, want: "passwords"},
		"JSON of another shape":  {data: map[string][]byte{"passwords": []byte(`[1]`)}, want: "passwords"},
		"a time that is none":    {data: map[string][]byte{"passwords": []byte(`{"current":{"hash":"` + good + `","since":"soon"}}`)}, want: "passwords"},
		"a digest that is none":  {data: map[string][]byte{"passwords": []byte(`{"current":{"hash":"abc"}}`)}, want: "no digests"},
		"too many":               {data: map[string][]byte{"passwords": []byte(`{"current":{"hash":"` + good + `"},"previous":[` + strings.Repeat(`{"hash":"`+good+`"},`, 5) + `{}]}`)}, want: "too many"},
		"an empty replication":   {data: map[string][]byte{"replication": {}}, want: "replication"},
		"a replication of bytes": {data: map[string][]byte{"replication": {0, 1}}, want: "replication"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, err := credentials.Decode(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
			healed := plan(t, start, credentials.Input{
				Source: credentials.SourceGiven, Stored: stored, Random: rand.Reader, Secret: map[string][]byte{"password": []byte("a")},
			})
			data, err := healed.Stored.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := credentials.Decode(data); err != nil {
				t.Errorf("the plan left it unreadable: %v", err)
			}
			if len(healed.Accepted) == 0 || healed.Accepted[0] != good {
				t.Errorf("accepted %v, want the Secret's password first", healed.Accepted)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"current":{"hash":"`+credentials.Hash("a")+`","since":"2026-03-01T12:00:00Z"},"previous":[{"hash":"x"}]}`), []byte("r"))
	f.Add([]byte(`{"previous":[null]}`), []byte{})
	f.Fuzz(func(t *testing.T, passwords, replication []byte) {
		// What cannot be read is told by the error and healed by the plan; here only the rest counts.
		stored, _ := credentials.Decode(map[string][]byte{"passwords": passwords, "replication": replication})
		r, err := credentials.Plan(start, credentials.Input{
			Source: credentials.SourceGiven, Stored: stored, Random: rand.Reader, Grace: grace,
			Secret: map[string][]byte{"password": []byte("a")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Accepted); n == 0 || n > 3 || r.Accepted[0] != credentials.Hash("a") {
			t.Fatalf("accepted %v", r.Accepted)
		}
		data, err := r.Stored.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := credentials.Decode(data)
		if err != nil {
			t.Fatalf("the plan left it unreadable: %v", err)
		}
		again, err := back.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(data, again); diff != "" {
			t.Fatalf("not the same bytes again:\n%s", diff)
		}
	})
}
