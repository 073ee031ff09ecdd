package load

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/check"
)

// readTimeout bounds the answer to one key of the final read, which may be long.
const readTimeout = 10 * time.Second

// Read returns what one member holds of a load.
func Read(ctx context.Context, o Options) (check.Data, error) {
	client := Open(o)
	defer func() { _ = client.Close() }()
	data := check.Data{Sets: map[string][]uint64{}, Lists: map[string][]uint64{}}
	for _, key := range o.Layout.setKeys() {
		ids, err := parse(client.SMembers(ctx, key))
		if err != nil {
			return check.Data{}, fmt.Errorf("read set %s of %s: %w", key, hostOf(o.Address), err)
		}
		if len(ids) > 0 {
			data.Sets[key] = ids
		}
	}
	for _, key := range o.Layout.listKeys() {
		ids, err := parse(client.LRange(ctx, key, 0, -1))
		if err != nil {
			return check.Data{}, fmt.Errorf("read list %s of %s: %w", key, hostOf(o.Address), err)
		}
		if len(ids) > 0 {
			data.Lists[key] = ids
		}
	}
	return data, nil
}

// Open returns a patient client of one server, with the first password of the options. It never retries.
func Open(o Options) *redis.Client {
	options := ClientOptions(o.Address, o.Passwords[0])
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = time.Second, readTimeout, readTimeout
	if o.Dial != nil {
		options.Dialer = o.Dial
	}
	return redis.NewClient(options)
}

func parse(cmd *redis.StringSliceCmd) ([]uint64, error) {
	words, err := cmd.Result()
	if err != nil {
		return nil, err
	}
	return parseIDs(words)
}

func parseIDs(words []string) ([]uint64, error) {
	ids := make([]uint64, 0, len(words))
	for _, word := range words {
		id, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a value that no client wrote: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
