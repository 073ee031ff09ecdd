package agent

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/fake"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func refusal(words string) error { return &protocol.RefusedError{Order: "test", Words: words} }

// rig is an engine in front of a fake server.
type rig struct {
	*testing.T
	engine  *Engine
	server  *fake.Server
	network *fake.Network
	now     time.Time
	wishes  facts.Wishes
}

func address(port int32) protocol.Address { return protocol.Address{Host: "127.0.0.1", Port: port} }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, network: fake.NewNetwork(), now: time.Unix(1000, 0)}
	r.server = r.network.Start(address(7001))
	dir := t.TempDir()
	var err error
	r.engine, err = New(Options{
		Cluster: "uid", DataDir: filepath.Join(dir, "data"), StateDir: filepath.Join(dir, "data", ".holdfast"), RunDir: filepath.Join(dir, "run"),
		Port: 7001, ServerPath: "/server", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return r.now },
		Dial: func(protocol.Options) protocol.Server { return r.server },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wishes = facts.Wishes{
		Engine: "redis", Parameters: map[string]string{"maxmemory": "100mb"},
		Users:           []facts.User{{Name: "default", PasswordHashes: []string{hashed("app")}, Rules: "~* &* +@all"}},
		ReplicationUser: "replication", ReplicationPassword: "link",
	}
	r.boot()
	return r
}

// boot is a start of the server, held.
func (r *rig) boot() {
	r.Helper()
	if _, err := r.engine.Prepare(r.Context(), r.assignment(wire.RoleHeld)); err != nil {
		r.Fatal(err)
	}
	if err := r.server.Follow(r.Context(), protocol.Nowhere()); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) assignment(role wire.Role) wire.Assignment {
	r.Helper()
	encoded, err := json.Marshal(r.wishes)
	if err != nil {
		r.Fatal(err)
	}
	return wire.Assignment{Cluster: "uid", Epoch: 1, Role: role, Primary: &wire.Endpoint{Host: "127.0.0.1", Port: 7002}, Engine: encoded}
}

func (r *rig) apply(role wire.Role) error { return r.engine.Apply(r.Context(), r.assignment(role)) }

func (r *rig) mustApply(role wire.Role) {
	r.Helper()
	if err := r.apply(role); err != nil {
		r.Fatalf("apply %s: %v", role, err)
	}
}

func (r *rig) facts() facts.Facts {
	r.Helper()
	o, err := r.engine.Observe(r.Context(), 1)
	if err != nil {
		r.Fatal(err)
	}
	var f facts.Facts
	if err := json.Unmarshal(o.Facts, &f); err != nil {
		r.Fatal(err)
	}
	return f
}

func (r *rig) setting(name string) string {
	r.Helper()
	got, err := r.server.Settings(r.Context(), []string{name})
	if err != nil {
		r.Fatal(err)
	}
	return got[name]
}

func (r *rig) incomplete(err error) string {
	r.Helper()
	var i *base.IncompleteError
	if !errors.As(err, &i) {
		r.Fatalf("applied with %v", err)
	}
	return i.Reason
}

func TestRolesAreTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	if f := r.facts(); !f.IsPrimary || f.ReplID2 == "" {
		t.Errorf("primary: %+v", f)
	}
	lineage := r.facts().ReplID
	r.mustApply(wire.RolePrimary)
	if f := r.facts(); f.ReplID != lineage {
		t.Error("the same assignment again promoted again")
	}
	session, err := r.server.Login("", "app")
	if err != nil {
		t.Fatal(err)
	}
	r.mustApply(wire.RoleReplica)
	if f := r.facts(); f.IsPrimary || f.Following != "127.0.0.1:7002" {
		t.Errorf("replica: %+v", f)
	}
	if _, err := session.Read("a"); err == nil {
		t.Error("the clients of a former primary stayed")
	}
	r.mustApply(wire.RoleHeld)
	if f := r.facts(); f.IsPrimary || f.Following != "" {
		t.Errorf("held: %+v", f)
	}
}

func TestTheGuardComesBeforeThePromotion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wishes.Parameters["min-replicas-to-write"] = "1"
	r.server.FailNext("Promote", errors.New("connection lost"))
	if err := r.apply(wire.RolePrimary); err == nil {
		t.Fatal("the promotion did not fail")
	}
	if got := r.setting("min-replicas-to-write"); got != "1" {
		t.Errorf("min-replicas-to-write is %s when the promotion is sent", got)
	}
}

func TestAFenceHoldsUntilTheNextAssignment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	session, err := r.server.Login("", "app")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := session.Write("a", "1"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("a write behind the fence: %v", err)
	}
	r.mustApply(wire.RolePrimary)
	if err := session.Write("a", "1"); err != nil {
		t.Errorf("a write after the fence: %v", err)
	}
}

func TestAPromotionDoesNotFailWithASetting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wishes.Parameters["maxclients"] = "5000"
	r.wishes.Parameters["maxmemory"] = "much"
	reason := r.incomplete(r.apply(wire.RolePrimary))
	if !strings.Contains(reason, "maxmemory") || !strings.Contains(reason, "memory value") {
		t.Errorf("reason %q", reason)
	}
	f := r.facts()
	if !f.IsPrimary {
		t.Error("not promoted")
	}
	if len(f.ConfigErrors) != 1 || f.ConfigErrors["maxmemory"] == "" {
		t.Errorf("config errors %v", f.ConfigErrors)
	}
	if got := r.setting("maxclients"); got != "10000" {
		t.Errorf("a part of a refused change was made: maxclients %s", got)
	}
	// Taken back, it heals.
	r.wishes.Parameters["maxmemory"] = "200mb"
	r.mustApply(wire.RolePrimary)
	if f := r.facts(); len(f.ConfigErrors) != 0 || r.setting("maxclients") != "5000" || r.setting("maxmemory") != "209715200" {
		t.Errorf("not healed: %v", f.ConfigErrors)
	}
}

func TestSettingsThatNeedARestartAreOnlyRendered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wishes.Parameters["databases"] = "4"
	r.wishes.RestartOnly = []string{"databases"}
	r.mustApply(wire.RoleHeld)
	r.wishes.RestartOnly = nil
	if reason := r.incomplete(r.apply(wire.RoleHeld)); !strings.Contains(reason, "databases") {
		t.Errorf("reason %q", reason)
	}
	r.boot()
	b, err := os.ReadFile(r.engine.configPath())
	if err != nil || !strings.Contains(string(b), "databases \"4\"\n") {
		t.Errorf("file %s, %v", b, err)
	}
}

func TestASettingThatIsNoLongerWishedGoesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	r.wishes.Parameters["timeout"] = "60"
	r.mustApply(wire.RolePrimary)
	r.wishes.Parameters["timeout"] = "90"
	r.mustApply(wire.RolePrimary)
	delete(r.wishes.Parameters, "timeout")
	r.mustApply(wire.RolePrimary)
	if got := r.setting("timeout"); got != "0" {
		t.Errorf("timeout %s", got)
	}
}

func TestPasswordsChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	r.wishes.Users[0].PasswordHashes = []string{hashed("next"), hashed("app")}
	r.mustApply(wire.RolePrimary)
	for _, password := range []string{"next", "app"} {
		if _, err := r.server.Login("", password); err != nil {
			t.Errorf("password %s: %v", password, err)
		}
	}
	if f := r.facts(); len(f.PasswordsAccepted) != 2 {
		t.Errorf("accepted %v", f.PasswordsAccepted)
	}
	r.wishes.Users[0].PasswordHashes = []string{hashed("next")}
	r.mustApply(wire.RolePrimary)
	if _, err := r.server.Login("", "app"); err == nil {
		t.Error("the old password is accepted")
	}
}

func TestUsersAreTheWishedOnesAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	if err := r.server.SetUser(t.Context(), "intruder", []string{"on", "#" + hashed("x"), "+@all"}); err != nil {
		t.Fatal(err)
	}
	if err := r.server.SetUser(t.Context(), "default", []string{"on", "#" + hashed("x"), "+@all"}); err != nil {
		t.Fatal(err)
	}
	r.mustApply(wire.RolePrimary)
	users, err := r.server.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(users) != 2 || users["intruder"] != "" || !strings.Contains(users["default"], hashed("app")) {
		t.Errorf("users %v", users)
	}
	// Without a wish nobody gets in.
	r.wishes.Users = nil
	r.mustApply(wire.RolePrimary)
	if _, err := r.server.Login("", ""); err == nil {
		t.Error("the default user needs no password")
	}
}

func TestAServerThatDoesNotAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"State", "Settings", "Users", "Promote"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.server.FailNext(method, errors.New("connection lost"))
			err := r.apply(wire.RolePrimary)
			var i *base.IncompleteError
			if err == nil || errors.As(err, &i) {
				t.Errorf("applied with %v", err)
			}
			r.mustApply(wire.RolePrimary)
		})
	}
}

func TestABusyServerIsAlive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	before := r.facts()
	r.server.SetBusy(true)
	if got := r.facts(); got.RunID != before.RunID || !got.IsPrimary {
		t.Errorf("busy: %+v", got)
	}
}

func TestWhoServes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	serving := func() bool {
		o, err := r.engine.Observe(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return o.Serving
	}
	if serving() {
		t.Error("a held server serves")
	}
	r.mustApply(wire.RolePrimary)
	if !serving() {
		t.Error("a primary does not serve")
	}
	r.mustApply(wire.RoleReplica)
	if serving() {
		t.Error("a replica without a link serves")
	}
	other := r.network.Start(address(7002))
	if err := other.SetUser(t.Context(), "replication", []string{"on", "#" + hashed("link"), "+@all"}); err != nil {
		t.Fatal(err)
	}
	if !serving() {
		t.Error("a replica in step does not serve")
	}
	r.server.SetLoading(true)
	if serving() {
		t.Error("a server that loads serves")
	}
}

func TestAnOrderedStopKeepsWhatIsComplete(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before func(*rig)
		saved  bool
	}{
		"a primary":                    {func(r *rig) { r.mustApply(wire.RolePrimary); r.facts() }, true},
		"a server that loads":          {func(r *rig) { r.mustApply(wire.RolePrimary); r.facts(); r.server.SetLoading(true) }, false},
		"a server that was only held":  {func(r *rig) { r.mustApply(wire.RoleHeld); r.facts() }, false},
		"a server that has never said": {func(*rig) {}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.before(r)
			if err := r.engine.Stop(t.Context()); err != nil || !r.server.Dead() || r.server.Saved() != c.saved {
				t.Errorf("stopped with %v, dead %v, saved %v", err, r.server.Dead(), r.server.Saved())
			}
		})
	}
}

func TestFilesAreForTheServerAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{r.engine.configPath(), r.engine.aclPath()} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	command, err := r.engine.Prepare(t.Context(), r.assignment(wire.RoleHeld))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"link", "app", r.engine.password} {
		if strings.Contains(strings.Join(command.Args, " "), secret) {
			t.Errorf("arguments %v", command.Args)
		}
	}
	acl, err := os.ReadFile(r.engine.aclPath())
	if err != nil || strings.Contains(string(acl), r.engine.password) {
		t.Errorf("the list of users has a password in clear: %v", err)
	}
	r.wishes.Users[0].Name = "two words"
	if _, err := r.engine.Prepare(t.Context(), r.assignment(wire.RoleHeld)); err == nil {
		t.Error("a user name that ends its line was written")
	}
}
