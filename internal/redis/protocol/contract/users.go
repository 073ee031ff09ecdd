package contract

import (
	"slices"
	"strings"
)

func userCases() map[string]func(l lab) {
	return map[string]func(l lab){
		"connections survive a change of their user's passwords": passwordChange,
		"each password of a user is accepted":                    twoPasswords,
		"a removed user is gone with its connections":            removedUser,
		"a change of a user that is refused changes nothing":     refusedUser,
		"the default user cannot be removed":                     removeDefault,
	}
}

func everything(passwords ...string) []string {
	rules := []string{"on"}
	for _, p := range passwords {
		rules = append(rules, hash(p))
	}
	return append(rules, "~*", "&*", "+@all")
}

func passwordChange(l lab) {
	i := l.server()
	l.must(i.SetUser(l.Context(), "default", everything("old")))
	client := l.login(i, "", "old")
	l.must(client.Write("a", "1"))
	l.must(i.SetUser(l.Context(), "default", everything("new", "old")))
	l.must(client.Write("a", "2"))
	l.must(i.SetUser(l.Context(), "default", everything("new")))
	if err := client.Write("a", "3"); err != nil {
		l.Errorf("a connection did not survive: %v", err)
	}
	if _, err := i.Login("", "old"); err == nil {
		l.Error("the old password is still accepted")
	}
	l.must(l.login(i, "", "new").Write("a", "4"))
}

func twoPasswords(l lab) {
	i := l.server()
	l.must(i.SetUser(l.Context(), "app", everything("one", "two")))
	for _, password := range []string{"one", "two"} {
		l.must(l.login(i, "app", password).Write("a", password))
	}
	if _, err := i.Login("app", "three"); err == nil {
		l.Error("a wrong password is accepted")
	}
	users, err := i.Users(l.Context())
	l.must(err)
	rules := strings.Fields(users["app"])
	for _, want := range []string{"on", hash("one"), hash("two"), "~*"} {
		if !slices.Contains(rules, want) {
			l.Errorf("rules %v lack %s", rules, want)
		}
	}
}

func removedUser(l lab) {
	i := l.server()
	l.must(i.SetUser(l.Context(), "app", everything("secret")))
	client := l.login(i, "app", "secret")
	l.must(client.Write("a", "1"))
	l.must(i.RemoveUser(l.Context(), "app"))
	if err := client.Write("a", "2"); err == nil {
		l.Error("a removed user could write")
	}
	users, err := i.Users(l.Context())
	l.must(err)
	if _, ok := users["app"]; ok {
		l.Errorf("users %v", users)
	}
}

func refusedUser(l lab) {
	i := l.server()
	l.must(i.SetUser(l.Context(), "app", everything("secret")))
	before, err := i.Users(l.Context())
	l.must(err)
	words := l.refusal(i.SetUser(l.Context(), "app", []string{"on", hash("other"), "nonsense"}))
	if strings.Contains(words, hash("other")) {
		l.Errorf("the words have a digest: %s", words)
	}
	l.refusal(i.SetUser(l.Context(), "app", []string{"on", "#short"}))
	after, err := i.Users(l.Context())
	l.must(err)
	if before["app"] != after["app"] {
		l.Errorf("user went from %q to %q", before["app"], after["app"])
	}
}

func removeDefault(l lab) {
	l.refusal(l.server().RemoveUser(l.Context(), "default"))
}
