package redissim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// link of a replica to its primary.
type link string

const (
	linkDown    link = "down"
	linkSyncing link = "syncing"
	linkUp      link = "up"
)

// syncTime is how long a full synchronisation takes.
const syncTime = 200 * time.Millisecond

// writeSize is how far one write moves the offset.
const writeSize = 10

// server is a Redis process.
type server struct {
	version string
	runID   string
	readyAt time.Time

	isPrimary bool
	joined    bool
	replID    string
	replID2   string
	second    int64
	offset    int64
	log       []int
	stored    *facts.Stored

	following string
	link      link
	// linked is the run ID of the primary that the link leads to.
	linked   string
	linkedAt time.Time
	downAt   time.Time
	// handshake: the replica was told to follow in this step and connects in the next.
	handshake bool
	diverged  bool

	parameters      map[string]string
	configErrors    map[string]string
	passwords       []string
	replicationHash []string
	password        string

	syncFull, syncPartial int64
}

// newServer starts from a volume, held, with all wishes in its configuration file.
func newServer(w *World, d *disk, wishes facts.Wishes) *server {
	s := &server{
		version: "8.0.6", runID: fmt.Sprintf("run-%d", w.next()), replID: fmt.Sprintf("made-up-%d", w.next()),
		offset: d.fileOffset, log: d.log, stored: d.stored(), link: linkDown, downAt: w.now,
		parameters: map[string]string{}, configErrors: map[string]string{},
	}
	if wishes.Engine == "valkey" {
		s.version = "9.1.2"
	}
	maps.Copy(s.parameters, wishes.Parameters)
	s.setUsers(wishes)
	return s
}

func (s *server) copy() *server {
	c := *s
	c.log = slices.Clip(s.log)
	c.parameters, c.configErrors = maps.Clone(s.parameters), maps.Clone(s.configErrors)
	return &c
}

// promote is REPLICAOF NO ONE.
func (s *server) promote(w *World) {
	if s.isPrimary {
		return
	}
	s.isPrimary, s.joined = true, true
	s.replID2, s.second = s.replID, s.offset+1
	s.replID = fmt.Sprintf("lineage-%d", w.next())
	s.following, s.link = "", linkDown
}

// follow is REPLICAOF; an empty host is nowhere.
func (s *server) follow(host string) {
	if !s.isPrimary && s.following == host {
		return
	}
	s.isPrimary = false
	s.following, s.link, s.handshake = host, linkDown, true
}

func (s *server) setUsers(w facts.Wishes) {
	s.passwords, s.replicationHash = nil, nil
	for _, u := range w.Users {
		switch u.Name {
		case naming.UserDefault:
			s.passwords = u.PasswordHashes
		case naming.UserReplication:
			s.replicationHash = u.PasswordHashes
		}
	}
	s.password = w.ReplicationPassword
}

// setParameters changes what a running server can change, all or nothing, and returns what it refused.
func (s *server) setParameters(w facts.Wishes, refuses map[string]string) map[string]string {
	refusals := map[string]string{}
	for name, value := range w.Parameters {
		if words, no := refuses[name]; no && s.parameters[name] != value && !slices.Contains(w.RestartOnly, name) {
			refusals[name] = fmt.Sprintf("setting %s: %s", name, words)
		}
	}
	s.configErrors = refusals
	if len(refusals) > 0 {
		return refusals
	}
	for name, value := range w.Parameters {
		if !slices.Contains(w.RestartOnly, name) {
			s.parameters[name] = value
		}
	}
	for name := range s.parameters {
		if _, wished := w.Parameters[name]; !wished {
			delete(s.parameters, name)
		}
	}
	return nil
}

// minReplicas are needed for a write.
func (s *server) minReplicas() int {
	n, err := strconv.Atoi(s.parameters["min-replicas-to-write"])
	if err != nil {
		return 0
	}
	return n
}

func (s *server) lineage(cluster string, epoch int64) *facts.Stored {
	return &facts.Stored{
		Cluster: cluster, Epoch: epoch, WasPrimary: s.isPrimary,
		ReplID: s.replID, Offset: s.offset, Keys: int64(len(s.log)),
	}
}

// catchUp takes over what the primary has more.
func (s *server) catchUp(primary *server, d *disk) {
	n := len(s.log)
	if n > len(primary.log) || !slices.Equal(s.log, primary.log[:n]) {
		// The engine would not notice; check does.
		s.diverged = true
		return
	}
	s.log = append(s.log[:n:n], primary.log[n:]...)
	s.offset = primary.offset
	d.log = s.log
}

// append is a write that a client sent.
func (s *server) append(id int, d *disk) {
	n := len(s.log)
	s.log = append(s.log[:n:n], id)
	s.offset += writeSize
	d.log = s.log
}
