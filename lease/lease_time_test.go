package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The tests here run in bubbles of fake time, which begin in the year 2000:
// hours of renewals take no time.

const ttl = 15 * time.Second

func newScheme(t testing.TB, spec string) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l))
}

func thousand(t *testing.T) *snowfence.Scheme {
	return newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01,tick=1ms")
}

func open(t *testing.T, st store.Store, s *snowfence.Scheme, o lease.Options) *lease.Lease {
	t.Helper()
	o.Create = true
	return must(lease.Open(t.Context(), st, "default", s, &o))
}

func records(t *testing.T, st store.Store) []store.Record {
	t.Helper()
	return must(scope.Namespaces(st).Leases(t.Context(), "default"))
}

// outage is a store that is unreachable from time to time.
type outage struct {
	store.Store
	away atomic.Bool
}

var errAway = errors.New("away")

func (o *outage) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if o.away.Load() {
		return nil, store.Reply{}, errAway
	}
	return o.Store.Get(ctx, keys)
}

func (o *outage) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	if o.away.Load() {
		errs := make([]error, len(writes))
		for i := range errs {
			errs[i] = errAway
		}
		return errs, nil, store.Reply{}
	}
	return o.Store.Swap(ctx, writes)
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), thousand(t)
		l := open(t, st, s, lease.Options{Idle: 10 * time.Minute})
		defer l.Close()
		node := l.Status().Grant.Node
		time.Sleep(9 * time.Minute)
		must(l.Grant(t.Context(), s.Layout().TickOf(time.Now())))
		time.Sleep(9 * time.Minute) // used nine minutes ago
		if now := s.Layout().TickOf(time.Now()); !records(t, st)[0].Held(now) {
			t.Fatal("not renewed within the idle limit")
		}
		time.Sleep(2*time.Minute + ttl)
		if now := s.Layout().TickOf(time.Now()); records(t, st)[0].Held(now) {
			t.Fatal("renewed beyond the idle limit")
		}
		now := s.Layout().TickOf(time.Now())
		g, err := l.Grant(t.Context(), now)
		if err != nil || g.Node != node || g.From > now {
			t.Fatalf("the first use after idling: %+v, %v; now is %d", g, err, now)
		}
	})
}

// TestStoreAway takes the store away for less than the ttl, which no caller
// notices, and for longer.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &outage{Store: store.NewMemory()}, thousand(t)
		l := open(t, st, s, lease.Options{})
		defer l.Close()
		g := must(snowfence.New(snowfence.Config{Fence: l}))
		run := func(d time.Duration) (failed int, back time.Duration) {
			start := time.Now()
			for time.Since(start) < d {
				if _, err := g.Next(t.Context()); err != nil {
					if !errors.Is(err, snowfence.ErrFenced) {
						t.Fatal(err)
					}
					failed++
					back = time.Since(start)
				}
				time.Sleep(20 * time.Millisecond)
			}
			return failed, back
		}
		run(time.Minute)
		st.away.Store(true)
		if failed, _ := run(9 * time.Second); failed > 0 {
			t.Errorf("%d calls failed while the store was unreachable for less than two thirds of the ttl", failed)
		}
		st.away.Store(false)
		run(time.Minute)
		st.away.Store(true)
		if failed, _ := run(time.Minute); failed < 40 {
			t.Errorf("%d calls failed in a minute without the store", failed)
		}
		if !errors.Is(l.Status().Trouble, errAway) {
			t.Errorf("the trouble is %v", l.Status().Trouble)
		}
		st.away.Store(false)
		if failed, back := run(time.Minute); back > 2*time.Second {
			t.Errorf("after the store came back, %d calls failed, the last after %v", failed, back)
		}
		noError(t, g.Close())
	})
}

// TestSuspend lets the wall clock jump by eight hours, as after a suspend,
// while another holder takes the node, and while none does.
func TestSuspend(t *testing.T) {
	for _, taken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st, s := store.NewMemory(), thousand(t)
			var ahead atomic.Int64
			start := time.Now()
			clock := func() (time.Time, time.Duration) {
				return time.Now().Add(time.Duration(ahead.Load())), time.Since(start)
			}
			l := open(t, st, s, lease.Options{Time: clock})
			defer l.Close()
			g := must(snowfence.New(snowfence.Config{Fence: l, Time: clock}))
			last := must(g.Next(t.Context()))
			ahead.Store(int64(8 * time.Hour))
			if taken {
				node := l.Status().Grant.Node
				open(t, st, s, lease.Options{Time: clock, Node: &node}).Orphan()
			}
			for range 100 {
				id := must(g.Next(t.Context()))
				if id <= last {
					t.Fatalf("ID %d after %d", id, last)
				}
				last = id
				time.Sleep(time.Second)
			}
			p := must(s.Decode(last))
			if now, _ := clock(); now.Sub(p.Time) > 2*time.Second {
				t.Errorf("an ID is stamped %v, and now is %v", p.Time, now)
			}
			noError(t, g.Close())
		})
	}
}
