package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

const (
	// interval between two questions to one member.
	interval = 100 * time.Millisecond
	// confirmation is how long a replica may take to confirm the write.
	confirmation = 100 * time.Millisecond
	// canaryKey is written on every server that takes itself for the primary.
	canaryKey = "holdfast-test:canary"
)

// member is one server that is asked directly, past every Service.
type member struct {
	name, address string
	options       Options
	keep          func(Sample)
}

func (m member) run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	clients := m.clients()
	defer func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}()
	for {
		for _, c := range clients {
			if m.sample(ctx, c) == nil {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m member) clients() []*redis.Client {
	var clients []*redis.Client
	for _, password := range m.options.Passwords {
		clients = append(clients, redis.NewClient(load.ClientOptions(m.address, password)))
	}
	return clients
}

// sample asks once. A server that does not answer gives no sample: nothing is known about it.
func (m member) sample(ctx context.Context, client *redis.Client) error {
	s := Sample{Member: m.name, Call: m.options.Now()}
	conn := client.Conn() // WAIT speaks of the writes of its own connection.
	defer func() { _ = conn.Close() }()
	info, err := conn.Info(ctx, "server", "replication").Result()
	if err != nil {
		return fmt.Errorf("ask %s: %w", m.name, err)
	}
	s.Instance, s.Claims = field(info, "run_id"), field(info, "role") == "master"
	if s.Claims {
		s.Confirmed = confirms(ctx, conn)
	}
	s.Return = m.options.Now()
	m.keep(s)
	return nil
}

func confirms(ctx context.Context, conn *redis.Conn) bool {
	if conn.Set(ctx, canaryKey, time.Now().UnixNano(), 0).Err() != nil {
		return false
	}
	replicas, err := conn.Wait(ctx, 1, confirmation).Result()
	return err == nil && replicas > 0
}

func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}
