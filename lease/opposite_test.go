package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// timed is a store with a time and an identity of its own.
type timed struct {
	*lease.Memory
	id  string
	now time.Time
}

func (s *timed) Now(context.Context) (time.Time, error)           { return s.now, nil }
func (s *timed) Identity(context.Context, string) (string, error) { return s.id, nil }

// Two clocks may be off in opposite directions, each by as much as is allowed. After the
// store was replaced by a backup, a lease whose clock is behind must not be granted what
// one whose clock is ahead still holds.
func TestReplacedStoreAndOppositeClocks(t *testing.T) {
	ctx := context.Background()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	const skew = 5 * time.Second
	truth := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func(st lease.Store, off time.Duration) snowfence.Grant {
		t.Helper()
		node := int64(7)
		l, err := lease.Open(ctx, st, "n", s, &lease.Options{
			TTL: 5 * time.Second, MaxSkew: skew, Node: &node, Label: "test",
			Time: func() (time.Time, time.Duration) { return truth.Add(off), 0 },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Orphan)
		return l.Status().Grant
	}
	backup := func() *timed {
		st := &timed{lease.NewMemory(), "one", truth}
		if _, err := lease.CreateNamespace(ctx, st, "n", s, nil); err != nil {
			t.Fatal(err)
		}
		return st
	}
	ahead := open(backup(), skew)
	restored := backup()
	restored.id = "two"
	behind := open(restored, -skew)
	if behind.From < ahead.Until {
		t.Errorf("node 7 is granted from tick %d, and is in use until %d", behind.From, ahead.Until)
	}
}

// jumping is a store during whose answer the clock of who asks is set an hour ahead.
type jumping struct {
	timed
	jump func()
}

func (s *jumping) Now(context.Context) (time.Time, error) {
	s.jump()
	return s.now, nil
}

// A clock that jumps while the store is asked for its time does not get into a grant unseen.
func TestJumpWhileAskingForTheTime(t *testing.T) {
	ctx := context.Background()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	truth := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var off time.Duration
	st := &jumping{timed{lease.NewMemory(), "one", truth}, func() { off = time.Hour }}
	if _, err := lease.CreateNamespace(ctx, st, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	l, err := lease.Open(ctx, st, "n", s, &lease.Options{
		TTL:  5 * time.Second,
		Time: func() (time.Time, time.Duration) { return truth.Add(off), off },
	})
	if err != nil {
		return // refusing is as good
	}
	t.Cleanup(l.Orphan)
	if g, most := l.Status().Grant, s.Layout().TickOf(truth.Add(time.Minute)); g.Until > most {
		t.Errorf("granted until tick %d, an hour ahead; a minute is %d", g.Until, most)
	}
}
