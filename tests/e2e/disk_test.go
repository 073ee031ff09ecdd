package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// waitOnDisk waits until the writes of a connection are on the disk of its server and of two
// replicas, and returns how many of each have them.
func waitOnDisk(ctx context.Context, conn *redis.Conn) (local, replicas int64, err error) {
	const patience = 5 * time.Second
	cmd := redis.NewSliceCmd(ctx, "waitaof", 1, 2, patience.Milliseconds())
	if err := conn.Process(ctx, cmd); err != nil {
		return 0, 0, fmt.Errorf("wait for the disks: %w", err)
	}
	answer := cmd.Val()
	if len(answer) != 2 {
		return 0, 0, fmt.Errorf("wait for the disks: unexpected answer %v", answer)
	}
	local, localOK := answer[0].(int64)
	replicas, replicasOK := answer[1].(int64)
	if !localOK || !replicasOK {
		return 0, 0, errors.New("wait for the disks: the answer holds no numbers")
	}
	return local, replicas, nil
}
