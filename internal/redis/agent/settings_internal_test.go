package agent

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValuesThatMeanTheSame(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name, wish, live string
		same             bool
	}{
		"equal words":                              {"maxmemory-policy", "allkeys-lru", "allkeys-lru", true},
		"another case":                             {"maxmemory-policy", "AllKeys-LRU", "allkeys-lru", true},
		"megabytes in powers of two":               {"maxmemory", "100mb", "104857600", true},
		"megabytes in thousands":                   {"maxmemory", "100m", "100000000", true},
		"gigabytes and upper case":                 {"maxmemory", "1GB", "1073741824", true},
		"kilobytes":                                {"repl-backlog-size", "64k", "64000", true},
		"plain bytes":                              {"maxmemory", "5b", "5", true},
		"another size":                             {"maxmemory", "100mb", "100000000", false},
		"a unit that does not exist":               {"maxmemory", "1tb", "1099511627776", false},
		"a size too large for the engine":          {"maxmemory", "99999999999gb", "0", false},
		"a negative number":                        {"timeout", "-1", "-1", true},
		"save points":                              {"save", "3600  1 300 100", "3600 1 300 100", true},
		"no save points":                           {"save", "", "", true},
		"no save points instead of some":           {"save", "", "3600 1", false},
		"limits of one class of several":           {"client-output-buffer-limit", "replica 512mb 64mb 60", "normal 0 0 0 slave 536870912 67108864 60 pubsub 33554432 8388608 60", true},
		"other limits of one class":                {"client-output-buffer-limit", "replica 1gb 64mb 60", "normal 0 0 0 slave 536870912 67108864 60 pubsub 33554432 8388608 60", false},
		"a class that does not exist":              {"client-output-buffer-limit", "other 0 0 0", "normal 0 0 0 slave 1 1 1", false},
		"event classes in another order":           {"notify-keyspace-events", "KEA", "AKE", true},
		"event classes, case matters":              {"notify-keyspace-events", "ke", "KE", false},
		"a truth value":                            {"appendonly", "yes", "no", false},
		"a word that only looks like a size value": {"loglevel", "k", "k", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sameValue(c.name, c.wish, c.live); got != c.same {
				t.Errorf("sameValue(%q, %q, %q) = %v", c.name, c.wish, c.live, got)
			}
		})
	}
}

func TestEveryValueEqualsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"maxmemory", "save", "client-output-buffer-limit", "notify-keyspace-events"}).Draw(t, "name")
		value := rapid.String().Draw(t, "value")
		if !sameValue(name, value, value) {
			t.Fatalf("%q differs from itself", value)
		}
	})
}

func TestWishesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	settings, refused := wanted(map[string]string{
		"MaxMemory": "1gb", "port": "1", "aclfile": "/etc/passwd", "masterauth": "x", "save": "1 1\nrequirepass x",
		"bad name": "1", "": "1", "repl-timeout": "20", "include": "/x",
	})
	if settings["maxmemory"] != "1gb" || settings["repl-timeout"] != "20" || settings["shutdown-timeout"] != "10" {
		t.Errorf("settings %v", settings)
	}
	for _, name := range []string{"port", "aclfile", "masterauth", "save", "bad name", "", "include"} {
		if _, ok := settings[name]; ok || refused[name] == "" {
			t.Errorf("%q was taken", name)
		}
	}
	if len(refused) != 7 {
		t.Errorf("refused %v", refused)
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	t.Parallel()
	one, _ := wanted(nil)
	one["repl-timeout"] = "changed"
	if two, _ := wanted(nil); maps.Equal(one, two) {
		t.Error("a change of one configuration changed another")
	}
}

// parseArguments reads one line as the engines do, for what quote may write.
func parseArguments(t *rapid.T, line string) []string {
	var out []string
	for line != "" {
		if line[0] != '"' {
			t.Fatalf("not quoted: %q", line)
		}
		var b strings.Builder
		i := 1
		for ; line[i] != '"'; i++ {
			if line[i] != '\\' {
				b.WriteByte(line[i])
				continue
			}
			i++
			if line[i] == 'x' {
				b.WriteByte(hexByte(t, line[i+1:i+3]))
				i += 2
				continue
			}
			b.WriteByte(line[i])
		}
		out = append(out, b.String())
		line = strings.TrimPrefix(line[i+1:], " ")
	}
	return out
}

func hexByte(t *rapid.T, digits string) byte {
	var b byte
	for _, d := range []byte(digits) {
		switch {
		case d >= '0' && d <= '9':
			b = b<<4 | (d - '0')
		case d >= 'a' && d <= 'f':
			b = b<<4 | (d - 'a' + 10)
		default:
			t.Fatalf("%q is no byte", digits)
		}
	}
	return b
}

func TestAQuotedValueIsOneArgumentAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
		line := quote(value)
		if strings.ContainsAny(line, "\n\r\x00") {
			t.Fatalf("%q would end its line", line)
		}
		if got := parseArguments(t, line); len(got) != 1 || got[0] != value {
			t.Fatalf("%q became %q", value, got)
		}
	})
}

func TestWhoseFaultARefusalIs(t *testing.T) {
	t.Parallel()
	change := map[string]string{"maxmemory": "x", "timeout": "1"}
	cases := map[string]struct {
		words string
		want  []string
	}{
		"the engine names the argument": {"ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value", []string{"maxmemory"}},
		"the engine names an unknown":   {"ERR Unknown option or number of arguments for CONFIG SET - 'timeout'", []string{"timeout"}},
		"the engine names nobody":       {"ERR something else", []string{"maxmemory", "timeout"}},
		"the engine names a stranger":   {"ERR CONFIG SET failed (possibly related to argument 'other') - no", []string{"maxmemory", "timeout"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := map[string]string{}
			noteRefusal(refusal(c.words), change, refused)
			if len(refused) != len(c.want) {
				t.Errorf("blamed %v, want %v", refused, c.want)
			}
			for _, name := range c.want {
				if refused[name] != c.words {
					t.Errorf("blamed %v, want %v", refused, c.want)
				}
			}
		})
	}
}
