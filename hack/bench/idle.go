package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// idleness is what the suite gives.
type idleness struct {
	Minutes int         `json:"minutes"`
	Writes  []lab.Write `json:"writes"`
}

// measureIdle counts the writes to the API that a settled cluster causes.
func measureIdle(ctx context.Context, b *bench) (any, error) {
	redis, cleanUp, err := b.newRedis(ctx, "bench-idle")
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	progress("watching all objects of %s for %d minutes", redis.Namespace, b.minutes)
	writes, err := b.lab.Writes(ctx, redis.Namespace, time.Duration(b.minutes)*time.Minute)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"idle for", "writes to the API"}, {fmt.Sprintf("%d min", b.minutes), strconv.Itoa(len(writes))}}
	for _, w := range writes {
		rows = append(rows, []string{"", fmt.Sprintf("%s %s %s by %s", w.Verb, w.Kind, w.Name, w.By)})
	}
	return idleness{Minutes: b.minutes, Writes: writes}, table(os.Stdout, rows)
}
