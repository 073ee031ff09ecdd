package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// protocolClient is an application.
type protocolClient struct{ *redis.Client }

func dialClient(t *testing.T, address, password string) protocolClient {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: address, Password: password, Protocol: 2, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: 2 * time.Second, DisableIdentity: true,
	})
	t.Cleanup(func() { c.Close() })
	return protocolClient{c}
}

func (c protocolClient) do(args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.Do(ctx, args...).Result()
}

func digest(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
