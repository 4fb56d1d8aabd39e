package lease

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// paced is a world in which a test says what time it is; it passes only
// where a goroutine waits, and at once.
type paced struct {
	world.World
	now    time.Time
	waits  []time.Duration
	onWait func() (over bool) // whether the first channel is ready
	limits []time.Duration    // of contexts
	looks  int
}

func (p *paced) Now() time.Time {
	if p.looks++; p.looks > 1000 {
		panic("the time was asked for a thousand times") // a loop that has no end
	}
	return p.now
}

func (p *paced) Wait(d time.Duration, chans ...<-chan struct{}) int {
	if d < 0 {
		return p.World.Wait(d, chans...)
	}
	if p.waits = append(p.waits, d); len(p.waits) > 100 {
		panic("it waited a hundred times") // a loop that has no end
	}
	p.now = p.now.Add(d)
	if p.onWait != nil && p.onWait() {
		return 0
	}
	return -1
}

func (p *paced) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	p.limits = append(p.limits, d)
	return context.WithCancel(ctx)
}

// pace gives the stage such a world.
func (g *stage) pace() *paced {
	p := &paced{World: world.Real(), now: g.now}
	g.l.setup.World = p
	return p
}

// The wait after a renewal or a failure is drawn from a range, both of
// whose ends are drawn.
func TestPaceOfALease(t *testing.T) {
	drawn := func(draw func() time.Duration) map[time.Duration]bool {
		all := map[time.Duration]bool{}
		for range 500 {
			all[draw()] = true
		}
		return all
	}
	g := empty(t, withRollback)
	now := g.now
	for name, c := range map[string]struct {
		ttl  time.Duration
		draw func() time.Duration
		want []time.Duration
	}{
		"next":                    {30, func() time.Duration { return g.l.next(now).Sub(now) }, []time.Duration{9, 10, 11}},
		"backoff, two":            {6, func() time.Duration { return g.l.setup.Backoff(0) }, []time.Duration{1, 2}},
		"backoff, three":          {9, func() time.Duration { return g.l.setup.Backoff(100) }, []time.Duration{1, 2}},
		"backoff of a tiny lease": {3, func() time.Duration { return g.l.setup.Backoff(0) }, []time.Duration{0}},
	} {
		g.l.setup.TTL = c.ttl
		got := drawn(c.draw)
		for _, d := range c.want {
			if !got[d] {
				t.Errorf("%s: never %d", name, d)
			}
			delete(got, d)
		}
		if len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	g.l.setup.TTL = time.Hour
	for failures, most := range map[int]time.Duration{
		0: 10 * time.Millisecond, 1: 20 * time.Millisecond, 6: 640 * time.Millisecond, 7: time.Second, 8: time.Second,
		9: time.Second, 100: time.Second,
	} {
		for d := range drawn(func() time.Duration { return g.l.setup.Backoff(failures) }) {
			if d < most/2 || d > most {
				t.Errorf("%v after %d failures", d, failures)
			}
		}
	}
}
