package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

const (
	// failoverLimit bounds the failover and the return of the old primary.
	failoverLimit = 3 * time.Minute
	// look is how often the writes are looked at while the story is told.
	look = 50 * time.Millisecond
	// settling of a moment before it is told: what is known a little later may have happened earlier.
	settling = 200 * time.Millisecond
)

// fall is the end of a primary.
type fall struct {
	// at is when it was killed, on the clock of the history.
	at        time.Duration
	primary   *corev1.Pod
	successor string
	// members of the cluster at the end.
	members []string
}

// moment of the story.
type moment struct {
	at   time.Duration
	text string
}

// teller tells the story of a failover while it happens.
type teller struct {
	demo  *demo
	trial *trial.Trial
	fall  fall
	seen  *dbv1.RedisCluster
	// served is set once a member that is not the old primary accepted a write.
	served, confirmed bool
	replacedAt        time.Duration
	pending           []moment
}

// failOver kills the primary and returns once another has served for a while and all members are back.
func (d *demo) failOver(ctx context.Context, t *trial.Trial) (fall, error) {
	ctx, cancel := context.WithTimeout(ctx, failoverLimit)
	defer cancel()
	primary, err := d.redis.Primary(ctx)
	if err != nil {
		return fall{}, err
	}
	stream, err := d.lab.Client.Watch(ctx, &dbv1.RedisClusterList{}, client.InNamespace(d.redis.Namespace),
		client.MatchingFields{"metadata.name": d.redis.Name})
	if err != nil {
		return fall{}, fmt.Errorf("watch RedisCluster %s: %w", d.redis, err)
	}
	defer stream.Stop()
	before, err := next(ctx, stream)
	if err != nil {
		return fall{}, err
	}
	tell := &teller{demo: d, trial: t, seen: before, fall: fall{primary: primary}}
	tell.fall.at = t.Mark("%s", d.killWords(primary.Name))
	tell.tell(moment{text: fmt.Sprintf("%s, primary of epoch %d", d.killWords(primary.Name), before.Status.Epoch)})
	if err := d.kill(ctx, primary); err != nil {
		return fall{}, err
	}
	err = tell.follow(ctx, stream)
	return tell.fall, err
}

// next RedisCluster of a watch.
func next(ctx context.Context, stream watch.Interface) (*dbv1.RedisCluster, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case event, open := <-stream.ResultChan():
		rc, ok := event.Object.(*dbv1.RedisCluster)
		if !open || !ok {
			return nil, errors.New("the watch of the RedisCluster ended")
		}
		return rc, nil
	}
}

func (l *teller) follow(ctx context.Context, stream watch.Interface) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			l.flush(0)
			return fmt.Errorf("wait for the failover of %s: %w: %s", l.demo.redis, ctx.Err(), l.missing())
		case event, open := <-stream.ResultChan():
			rc, ok := event.Object.(*dbv1.RedisCluster)
			if !open || !ok {
				return errors.New("the watch of the RedisCluster ended")
			}
			l.sees(rc)
		case <-ticker.C:
			l.lookAtWrites()
			l.flush(settling)
			if l.missing() == "" {
				l.flush(0)
				return nil
			}
		}
	}
}

func (l *teller) since() time.Duration { return l.trial.History.Now() - l.fall.at }

func (l *teller) sees(rc *dbv1.RedisCluster) {
	for _, text := range changes(l.seen, rc) {
		l.tell(moment{at: l.since(), text: text})
	}
	l.seen = rc
	if l.replacedAt == 0 && rc.Status.Primary != l.fall.primary.Name && rc.Status.Primary != "" {
		l.replacedAt, l.fall.successor = l.since(), rc.Status.Primary
	}
	l.fall.members = nil
	for _, m := range rc.Status.Members {
		l.fall.members = append(l.fall.members, m.Name)
	}
}

// lookAtWrites finds the first writes that another member took. Through a tunnel members cannot be told apart.
func (l *teller) lookAtWrites() {
	if l.demo.target == targetGiven || l.served && l.confirmed {
		return
	}
	first := firstWrites(l.trial.History.Events(), l.fall.at, lab.Address(l.fall.primary.Status.PodIP))
	if !l.served && first.accepted > 0 {
		l.served = true
		l.tell(moment{at: first.accepted - l.fall.at, text: "the first write is accepted again"})
	}
	if !l.confirmed && first.confirmed > 0 {
		l.confirmed = true
		l.tell(moment{at: first.confirmed - l.fall.at, text: "the first write is confirmed by a replica again"})
	}
}

// missing says what the story waits for, or nothing.
func (l *teller) missing() string {
	switch {
	case l.replacedAt == 0:
		return "no other member has become primary"
	case l.since()-l.replacedAt < loadTime:
		return "the new primary has only begun"
	}
	if err := lab.Settled()(l.seen); err != nil {
		return err.Error()
	}
	return ""
}

func (l *teller) tell(m moment) { l.pending = append(l.pending, m) }

// flush prints what happened some time ago, in the order in which it happened.
func (l *teller) flush(age time.Duration) {
	slices.SortStableFunc(l.pending, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for len(l.pending) > 0 && l.pending[0].at <= l.since()-age {
		m := l.pending[0]
		l.pending = l.pending[1:]
		l.demo.screen.line("    %s  %s", l.demo.screen.paint(cyan, fmt.Sprintf("+%5d ms", m.at.Milliseconds())), m.text)
	}
}
