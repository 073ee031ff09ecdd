package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// Users implements protocol.Users.
func (s *Server) Users(context.Context) (map[string]string, error) {
	if err := s.enter("Users"); err != nil {
		return nil, err
	}
	defer s.net.mu.Unlock()
	return maps.Clone(s.users), nil
}

// SetUser implements protocol.Users.
func (s *Server) SetUser(_ context.Context, name string, rules []string) error {
	if err := s.enter("SetUser"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	state, passwords, rest := "off", []string{}, []string{}
	for _, r := range rules {
		switch {
		case r == "on" || r == "off":
			state = r
		case strings.HasPrefix(r, "#"):
			if len(r) != 65 {
				return refused("set user "+name, "ERR Error in ACL SETUSER modifier: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
			}
			if !slices.Contains(passwords, r) {
				passwords = append(passwords, r)
			}
		case strings.HasPrefix(r, "~"), strings.HasPrefix(r, "&"), strings.HasPrefix(r, "+"), strings.HasPrefix(r, "-"):
			rest = append(rest, r)
		default:
			return refused("set user "+name, "ERR Error in ACL SETUSER modifier '"+r+"': Syntax error")
		}
	}
	// The server's words differ from the caller's, as a real one's do.
	s.users[name] = strings.Join(slices.Concat([]string{state, "sanitize-payload"}, passwords, rest), " ")
	return nil
}

// RemoveUser implements protocol.Users.
func (s *Server) RemoveUser(_ context.Context, name string) error {
	if err := s.enter("RemoveUser"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	if name == "default" {
		return refused("remove user default", "ERR The 'default' user cannot be removed")
	}
	delete(s.users, name)
	for _, session := range s.sessions {
		if session.user == name {
			session.open = false
		}
	}
	return nil
}

// admits says whether a user may sign in; the empty name is the default user.
func (s *Server) admits(user, password string) bool {
	if user == "" {
		user = "default"
	}
	rules := strings.Fields(s.users[user])
	if !slices.Contains(rules, "on") {
		return false
	}
	sum := sha256.Sum256([]byte(password))
	return slices.Contains(rules, "nopass") || slices.Contains(rules, "#"+hex.EncodeToString(sum[:]))
}

// Session is a client's connection.
type Session struct {
	server *Server
	user   string
	open   bool
}

// Errors that a client gets.
var (
	errWrongPassword = errors.New("WRONGPASS invalid username-password pair or user is disabled")
	errClosed        = errors.New("EOF")
	errReadOnly      = errors.New("READONLY You can't write against a read only replica")
	errNoReplicas    = errors.New("NOREPLICAS Not enough good replicas to write")
)

// Login connects a client.
func (s *Server) Login(user, password string) (*Session, error) {
	if err := s.enter("Login"); err != nil {
		return nil, err
	}
	defer s.net.mu.Unlock()
	if !s.admits(user, password) {
		return nil, errWrongPassword
	}
	session := &Session{server: s, user: user, open: true}
	s.sessions = append(s.sessions, session)
	return session, nil
}

// Write sets a key.
func (c *Session) Write(key, value string) error {
	s := c.server
	if err := s.enter("Write"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	wanted, _ := strconv.Atoi(s.settings["min-replicas-to-write"])
	switch {
	case !c.open:
		return errClosed
	case s.role == protocol.RoleReplica:
		return errReadOnly
	case wanted > len(s.replicas()):
		return errNoReplicas
	}
	s.keys[key] = value
	s.offset += int64(len(key) + len(value))
	s.net.settle()
	return nil
}

// Read gets a key; empty for none.
func (c *Session) Read(key string) (string, error) {
	s := c.server
	if err := s.enter("Read"); err != nil {
		return "", err
	}
	defer s.net.mu.Unlock()
	if !c.open {
		return "", errClosed
	}
	return s.keys[key], nil
}

func (s *Server) closeSessions() {
	for _, session := range s.sessions {
		session.open = false
	}
	s.sessions = nil
}
