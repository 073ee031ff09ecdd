package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// knownUsers is, by user, what was wished and how the server words it since: the engines report
// rules in their own words, which cannot be compared with a wish.
type knownUsers map[string]knownUser

type knownUser struct{ wished, live string }

// users are the wished ones, the agent's own, and a default user that lets nobody in unless it is
// wished: an engine's own default is a user without a password.
func (e *Engine) users(w facts.Wishes) map[string][]string {
	all := map[string][]string{naming.UserDefault: {"off"}}
	for _, u := range w.Users {
		all[u.Name] = rules(u)
	}
	all[naming.UserAgent] = []string{"on", "#" + hashed(e.password), "~*", "&*", "+@all"}
	return all
}

func rules(u facts.User) []string {
	out := []string{"on"}
	for _, h := range u.PasswordHashes {
		out = append(out, "#"+h)
	}
	return append(out, strings.Fields(u.Rules)...)
}

// renderACL writes the access control list's file.
func renderACL(users map[string][]string) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if name == "" || strings.ContainsAny(name, " \t\r\n\x00") {
			return "", fmt.Errorf("the user name %q cannot be used", name)
		}
		fmt.Fprintf(&b, "user %s reset %s\n", name, strings.Join(users[name], " "))
	}
	return b.String(), nil
}

// applyUsers makes the server's users the wished ones and returns the digests of the passwords
// that the default user accepts.
func (e *Engine) applyUsers(ctx context.Context, w facts.Wishes) error {
	live, err := e.orders().Users(ctx)
	if err != nil {
		return err
	}
	users := e.users(w)
	changed := false
	for _, name := range slices.Sorted(maps.Keys(users)) {
		wished := strings.Join(users[name], " ")
		if known, ok := e.acl[name]; ok && known.wished == wished && known.live == live[name] && live[name] != "" {
			continue
		}
		if err := e.orders().SetUser(ctx, name, users[name]); err != nil {
			return err
		}
		changed = true
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if _, ok := users[name]; ok {
			continue
		}
		if err := e.orders().RemoveUser(ctx, name); err != nil {
			return err
		}
		changed = true
	}
	if changed {
		if live, err = e.orders().Users(ctx); err != nil {
			return err
		}
	}
	return e.noteUsers(users, live)
}

// noteUsers remembers how the server words the users, after checking that it has their passwords.
func (e *Engine) noteUsers(users map[string][]string, live map[string]string) error {
	known := knownUsers{}
	for name, wished := range users {
		if got, want := passwordsIn(strings.Fields(live[name])), passwordsIn(wished); !slices.Equal(got, want) {
			return fmt.Errorf("the server has other passwords for user %s than it was told", name)
		}
		known[name] = knownUser{wished: strings.Join(wished, " "), live: live[name]}
	}
	e.acl = known
	e.mu.Lock()
	e.seen.passwords = passwordsIn(strings.Fields(live[naming.UserDefault]))
	e.mu.Unlock()
	return nil
}

// passwordsIn are the digests among rules, sorted.
func passwordsIn(rules []string) []string {
	var digests []string
	for _, r := range rules {
		if digest, ok := strings.CutPrefix(r, "#"); ok {
			digests = append(digests, digest)
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}
