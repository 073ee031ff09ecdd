package contract

import (
	"errors"
	"maps"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

func settingsCases() map[string]func(l lab) {
	return map[string]func(l lab){
		"sizes are reported in bytes":                           sizes,
		"a change of which one part is refused changes nothing": allOrNothing,
		"an unknown setting is absent and cannot be changed":    unknownSetting,
		"a setting that needs a restart is refused by name":     immutableSetting,
		"no names and no changes are no error":                  nothingToDo,
	}
}

func (l lab) settings(i Instance, names ...string) map[string]string {
	l.Helper()
	got, err := i.Settings(l.Context(), names)
	l.must(err)
	return got
}

// refusal returns the server's words.
func (l lab) refusal(err error) string {
	l.Helper()
	var no *protocol.RefusedError
	if !errors.As(err, &no) {
		l.Fatalf("answered %v", err)
	}
	return no.Words
}

func sizes(l lab) {
	i := l.server()
	l.must(i.ChangeSettings(l.Context(), map[string]string{"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}))
	got := l.settings(i, "maxmemory", "maxmemory-policy")
	if !maps.Equal(got, map[string]string{"maxmemory": "104857600", "maxmemory-policy": "allkeys-lru"}) {
		l.Errorf("settings %v", got)
	}
	if s := l.state(i); s.Memory.Max != 104857600 {
		l.Errorf("memory %+v", s.Memory)
	}
}

func allOrNothing(l lab) {
	i := l.server()
	before := l.settings(i, "maxclients", "maxmemory", "timeout")
	err := i.ChangeSettings(l.Context(), map[string]string{"maxclients": "500", "maxmemory": "much", "timeout": "7"})
	if words := l.refusal(err); !strings.Contains(words, "'maxmemory'") {
		l.Errorf("refused with %q", words)
	}
	if after := l.settings(i, "maxclients", "maxmemory", "timeout"); !maps.Equal(before, after) {
		l.Errorf("settings went from %v to %v", before, after)
	}
}

func unknownSetting(l lab) {
	i := l.server()
	if got := l.settings(i, "no-such-setting", "timeout"); len(got) != 1 || got["timeout"] != "0" {
		l.Errorf("settings %v", got)
	}
	if words := l.refusal(i.ChangeSettings(l.Context(), map[string]string{"no-such-setting": "1"})); !strings.Contains(words, "'no-such-setting'") {
		l.Errorf("refused with %q", words)
	}
}

func immutableSetting(l lab) {
	words := l.refusal(l.server().ChangeSettings(l.Context(), map[string]string{"databases": "4"}))
	if !strings.Contains(words, "'databases'") || !strings.Contains(words, "can't set immutable config") {
		l.Errorf("refused with %q", words)
	}
}

func nothingToDo(l lab) {
	i := l.server()
	if got := l.settings(i); len(got) != 0 {
		l.Errorf("settings %v", got)
	}
	l.must(i.ChangeSettings(l.Context(), nil))
}
