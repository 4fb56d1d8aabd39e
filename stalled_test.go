//go:build snowfence_stall

package snowfence

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// once runs f in the goroutine that comes first to a point between two atomic steps, as if others
// had been faster there.
func once(t *testing.T, at point, f func()) (came *bool) {
	t.Helper()
	came = new(bool)
	stop := func(p point) {
		if p == at && !*came {
			*came = true
			f()
		}
	}
	onStall.Store(&stop)
	t.Cleanup(func() { onStall.Store(nil) })
	return came
}

// A call that comes to the word when others took the last position of the tick gets no position,
// not even of the next tick.
func TestStalledBeforeTheLastPosition(t *testing.T) {
	for _, c := range []struct {
		at     point
		coarse bool
		source bool // a clock that opens no fast path
	}{
		{at: afterLimit},
		{at: afterLimit, coarse: true},
		{at: afterWord, source: true},
		{at: afterWord, source: true, coarse: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, clock := testScheme(t, stallSpec), newStepped()
			now := s.Layout().TickOf(time.Now())
			f := newScript(s, Grant{Node: 1, From: now, Until: now + 90})
			conf := Config{Fence: f, Coarse: c.coarse}
			if c.source {
				conf.Time = clock.now
			}
			g := newGenerator(t, conf)
			g.ticking.Store(true) // no ticker
			first := take(t, g, 1)[0]
			if c.source {
				g.cur.Load().halt()
			}
			var second ID
			came := once(t, c.at, func() { second = take(t, g, 1)[0] })
			third, err := g.TryNext()
			want := must(s.Compose(Parts{Tick: now, Node: 1}))
			if !*came || first != want || second != want+1 {
				t.Errorf("%+v: came there: %t; %d and %d", c, *came, first, second)
			}
			if !errors.Is(err, ErrExhausted) {
				t.Errorf("%+v: the third ID of a tick with two is %d, %v", c, third, err)
			}
		})
	}
}
