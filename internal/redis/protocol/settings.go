package protocol

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Settings implements Settings.
func (c *client) Settings(ctx context.Context, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return map[string]string{}, nil
	}
	args := []any{"CONFIG", "GET"}
	for _, n := range names {
		args = append(args, n)
	}
	get := redis.NewMapStringStringCmd(ctx, args...)
	if err := c.rdb.Process(ctx, get); err != nil {
		return nil, explain("read settings", err)
	}
	return get.Val(), nil
}

// ChangeSettings implements Settings. One CONFIG SET is all or nothing since Redis 7.0.
func (c *client) ChangeSettings(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	args := []any{"CONFIG", "SET"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		args = append(args, name, values[name])
	}
	return explain("change settings", c.rdb.Do(ctx, args...).Err())
}
