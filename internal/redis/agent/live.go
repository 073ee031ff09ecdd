package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// liveSettings is what is known of the running server's settings.
type liveSettings struct {
	// booted are the settings of the file that the server started with.
	booted map[string]string
	// before is the value that a setting had before it was first changed; it comes back when the
	// setting is no longer wished.
	before map[string]string
	// accepted is, by name, a wish that the server took and how it words it since.
	accepted map[string]accepted
}

type accepted struct{ wish, live string }

func newLiveSettings(booted map[string]string) liveSettings {
	return liveSettings{booted: booted, before: map[string]string{}, accepted: map[string]accepted{}}
}

// errNotKept is a setting that the server accepted in words and did not take.
var errNotKept = errors.New("the server did not keep a setting")

// applySettings makes the running settings the wished ones: all that differ or, if one is refused,
// none. refused gets the names and the server's words.
func (e *Engine) applySettings(ctx context.Context, wish, refused map[string]string) error {
	err := e.changeSettings(ctx, e.withRestored(wish), refused)
	e.mu.Lock()
	e.seen.configErrors = maps.Clone(refused)
	e.mu.Unlock()
	return err
}

// withRestored adds the former values of settings that were changed live and are no longer wished.
func (e *Engine) withRestored(wish map[string]string) map[string]string {
	all := maps.Clone(wish)
	for name, value := range e.live.before {
		if _, ok := all[name]; !ok {
			all[name] = value
		}
	}
	return all
}

func (e *Engine) changeSettings(ctx context.Context, wish, refused map[string]string) error {
	names := slices.Sorted(maps.Keys(wish))
	live, err := e.orders().Settings(ctx, names)
	if err != nil {
		return err
	}
	change := map[string]string{}
	for _, name := range names {
		if now, known := live[name]; !known || !e.holds(name, wish[name], now) {
			change[name] = wish[name]
		}
	}
	if len(change) == 0 {
		return nil
	}
	if err := e.orders().ChangeSettings(ctx, change); err != nil {
		noteRefusal(err, change, refused)
		return err
	}
	return e.readBack(ctx, change, live, refused)
}

func (e *Engine) holds(name, wish, live string) bool {
	return sameValue(name, wish, live) || e.live.accepted[name] == accepted{wish: wish, live: live}
}

// readBack checks what became of a change and takes all of it back if a part did not hold.
func (e *Engine) readBack(ctx context.Context, change, before, refused map[string]string) error {
	after, err := e.orders().Settings(ctx, slices.Sorted(maps.Keys(change)))
	if err != nil {
		return err
	}
	notKept := false
	for name, wish := range change {
		if !sameValue(name, wish, after[name]) && after[name] == before[name] {
			refused[name] = fmt.Sprintf("the server kept %q", after[name])
			notKept = true
		}
	}
	if notKept {
		former := map[string]string{}
		for name := range change {
			former[name] = before[name]
		}
		return errors.Join(errNotKept, e.orders().ChangeSettings(ctx, former))
	}
	for name, wish := range change {
		e.live.accepted[name] = accepted{wish: wish, live: after[name]}
		if _, fromFile := e.live.booted[name]; !fromFile {
			if _, ok := e.live.before[name]; !ok {
				e.live.before[name] = before[name]
			}
		}
	}
	return nil
}

// refusedName finds the setting in the words of a server that refuses a change.
var refusedName = regexp.MustCompile(`(?:related to argument|CONFIG SET -) '([^']+)'`)

// noteRefusal blames the setting that the server names, or all that were to change if it names none.
func noteRefusal(err error, change, refused map[string]string) {
	var no *protocol.RefusedError
	if !errors.As(err, &no) {
		return
	}
	if match := refusedName.FindStringSubmatch(no.Words); match != nil {
		if _, ok := change[match[1]]; ok {
			refused[match[1]] = no.Words
			return
		}
	}
	for name := range change {
		refused[name] = no.Words
	}
}
