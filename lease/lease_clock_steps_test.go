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

// stepped is a clock that steps when it is told to.
func stepped() (clock snowfence.TimeSource, step func(time.Duration)) {
	var off atomic.Int64
	start := time.Now()
	return func() (time.Time, time.Duration) {
		return time.Now().Add(time.Duration(off.Load())), time.Since(start)
	}, func(d time.Duration) { off.Add(int64(d)) }
}

// TestGeneratorStepsBack lets the clock of a process step back: IDs are
// made without a gap, inside the grants, and never twice; also by the
// process after it.
func TestGeneratorStepsBack(t *testing.T) {
	for name, c := range map[string]struct {
		steps []time.Duration
		lead  int64
	}{
		"one second":      {[]time.Duration{-time.Second}, 0},
		"half a minute":   {[]time.Duration{-30 * time.Second}, 0},
		"an hour":         {[]time.Duration{-time.Hour}, 0},
		"with lead":       {[]time.Duration{-time.Hour}, 1000},
		"again and again": {[]time.Duration{-time.Second, -30 * time.Second, -time.Minute, -time.Hour, -time.Second}, 0},
		"there and back":  {[]time.Duration{time.Hour, -time.Hour, time.Second, -2 * time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, step := stepped()
				st, s := store.NewMemory(), thousand(t)
				l := open(t, st, s, lease.Options{Time: clock})
				g, err := snowfence.New(snowfence.Config{Fence: l, Time: clock, Lead: c.lead})
				noError(t, err)
				var last snowfence.ID
				run := func(d time.Duration) {
					t.Helper()
					for start := time.Now(); time.Since(start) < d; time.Sleep(10 * time.Millisecond) {
						id, err := g.Next(t.Context()) // waits a second at most
						if err != nil {
							t.Fatalf("%v after the step: %v", time.Since(start), err)
						}
						if id <= last {
							t.Fatalf("ID %d after %d", id, last)
						}
						last = id
						p := must(s.Decode(id))
						if r := records(t, st)[0]; p.Node != r.Node || p.Tick < r.From || p.Tick >= r.Until {
							t.Fatalf("ID %d has tick %d of node %d, and granted is %+v", id, p.Tick, p.Node, r)
						}
					}
				}
				run(time.Minute)
				for _, d := range c.steps {
					step(d)
					run(2 * time.Minute)
				}
				noError(t, errors.Join(g.Close(), l.Close()))
				// A process that starts now trusts the clock as it is. The
				// same node has to wait for it; others do not.
				l = open(t, st, s, lease.Options{Time: clock, Label: "another"})
				g = must(snowfence.New(snowfence.Config{Fence: l, Time: clock}))
				id := must(g.Next(t.Context()))
				now, _ := clock()
				if p, err := s.Decode(id); err != nil || p.Time.Sub(now).Abs() > time.Second {
					t.Errorf("the next process stamps %v, and now is %v: %v", p.Time, now, err)
				}
				noError(t, errors.Join(g.Close(), l.Close()))
				node := int64(records(t, st)[0].Node)
				l = open(t, st, s, lease.Options{Time: clock, Node: &node})
				defer l.Orphan()
				if g := l.Status().Grant; g.Node == node && g.From < records(t, st)[0].PrevUntil {
					t.Errorf("the same node begins at %d", g.From)
				}
			})
		})
	}
}

// TestRollbackStepsBack does the same with bits for steps back: the true
// time is stamped, from inside the grant.
func TestRollbackStepsBack(t *testing.T) {
	for _, back := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clock, step := stepped()
			st, s := store.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
			l := open(t, st, s, lease.Options{Time: clock})
			defer l.Close()
			g := must(snowfence.New(snowfence.Config{Fence: l, Time: clock}))
			seen := map[snowfence.ID]bool{}
			run := func(d time.Duration) (failed int) {
				for start := time.Now(); time.Since(start) < d; time.Sleep(10 * time.Millisecond) {
					id, err := g.Next(t.Context())
					if errors.Is(err, snowfence.ErrExhausted) || errors.Is(err, context.DeadlineExceeded) {
						failed++
						continue
					}
					noError(t, err)
					if seen[id] {
						t.Fatalf("ID %d twice", id)
					}
					seen[id] = true
					p := must(s.Decode(id))
					r := records(t, st)[0]
					if now, _ := clock(); p.Tick < r.From || p.Tick >= r.Until ||
						p.Time.Sub(now).Abs() > 10*time.Millisecond {
						t.Fatalf("at %v ID %d is stamped %v; granted is %+v", now, id, p.Time, r)
					}
				}
				return failed
			}
			run(time.Minute)
			step(-back)
			failed := run(3 * time.Minute)
			if failed > 0 && back < time.Minute {
				t.Errorf("%d calls failed after a step back by %v", failed, back)
			}
			if failed == 0 && back > time.Minute {
				t.Error("IDs were made below the first tick of the grant")
			}
			step(back)
			if failed := run(3 * time.Minute); failed > 0 {
				t.Errorf("%d calls failed after the clock was right again", failed)
			}
			noError(t, g.Close())
		})
	}
}

// TestRollbackHeals evicts a holder after its clock stepped back by an
// hour: with bits for that the next grant is at the true time.
func TestRollbackHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, step := stepped()
		st, s := store.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		l := open(t, st, s, lease.Options{Time: clock})
		defer l.Close()
		node := l.Status().Grant.Node
		time.Sleep(time.Minute)
		step(-time.Hour)
		must(scope.Namespaces(st).Release(t.Context(), "default", node))
		time.Sleep(ttl)
		now, _ := clock()
		tick := s.Layout().TickOf(now)
		if g := l.Status().Grant; g.Node == node || tick < g.From || tick >= g.Until {
			t.Errorf("now is %d, and after node %d the grant is %+v", tick, node, g)
		}
	})
}

// serverTime is a store with a clock of its own.
type serverTime struct{ store.Store }

func (s serverTime) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, reply, err := s.Store.Get(ctx, keys)
	reply.Now = time.Now()
	return rs, reply, err
}

func (s serverTime) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	errs, rs, reply := s.Store.Swap(ctx, writes, then...)
	reply.Now = time.Now()
	return errs, rs, reply
}

// TestSkewAfterStepBack: what is held against the store's clock is the
// clock that stamps IDs, which does not go back as long as it is off by
// less than allowed.
func TestSkewAfterStepBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, step := stepped()
		st, s := serverTime{store.NewMemory()}, thousand(t)
		l := open(t, st, s, lease.Options{Time: clock})
		defer l.Close()
		step(10 * time.Second)
		time.Sleep(time.Minute)
		wantErr(t, l.Status().Trouble, nil, "off by less than allowed")
		step(10 * time.Second)
		time.Sleep(ttl)
		wantErr(t, l.Status().Trouble, lease.ErrSkew, "20 s ahead")
	})
}

const second = time.Second

// TestClockGlitch lets the clock of a holder, or of the server that it
// asks, be wrong for three seconds. When it is right again, IDs go on
// within a ttl, with the right time, and in order.
func TestClockGlitch(t *testing.T) {
	for _, long := range []time.Duration{ttl, 4 * ttl} {
		for _, by := range []time.Duration{
			5 * second, 14 * second, 16 * second, 18 * second, 50 * second, 58 * second, 61 * second, 120 * second,
			time.Hour, 24 * time.Hour,
		} {
			for _, who := range []string{"holder", "client", "server"} {
				glitch(t, who, long, by)
				glitch(t, who, long, -by)
			}
		}
	}
}

func glitch(t *testing.T, who string, long, by time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		right := func() (time.Time, time.Duration) { return time.Now(), time.Duration(time.Now().UnixNano()) }
		ours, step := stepped()
		theirs := snowfence.TimeSource(right)
		if who == "server" {
			ours, theirs = theirs, ours
		}
		st, s := serverTime{store.NewMemory()}, thousand(t)
		o := lease.Options{TTL: long, MaxSkew: long / 4, Time: ours}
		must(scope.Namespaces(st).Create(t.Context(), "default", s,
			&scope.NamespaceOptions{MaxTTL: o.TTL, MaxSkew: o.MaxSkew}))
		var l *lease.Lease
		if who == "holder" {
			l = open(t, st, s, o)
		} else {
			server := lease.Serve(st, s, &lease.Options{MaxSkew: o.MaxSkew, Time: theirs})
			ls := must(lease.Keep(t.Context(), server, "default", s, 1, &o))
			l = ls[0]
		}
		g := must(l.Generator(snowfence.Config{Time: ours}))
		defer g.Close()
		var last snowfence.ID
		run := func(d time.Duration) (first time.Duration) {
			first = -1
			for start := time.Now(); time.Since(start) < d; time.Sleep(10 * time.Millisecond) {
				id, err := g.TryNext()
				if err != nil {
					continue
				}
				if first < 0 {
					first = time.Since(start)
				}
				if id <= last {
					t.Fatalf("ID %d after %d", id, last)
				}
				last = id
			}
			return first
		}
		run(time.Minute + second)
		step(by)
		run(3 * second)
		asked := make(chan time.Duration)
		back := time.Now()
		go func() { // one who waits does so no longer
			_, err := g.Fill(context.WithoutCancel(t.Context()), make([]snowfence.ID, 1))
			for err != nil {
				_, err = g.Fill(context.WithoutCancel(t.Context()), make([]snowfence.ID, 1))
			}
			asked <- time.Since(back)
		}()
		step(-by)
		if first := run(2 * long); first < 0 || first > long {
			t.Errorf("%s's clock was %v ahead with a ttl of %v: no ID for %v", who, by, long, first)
		}
		if waited := <-asked; waited > long {
			t.Errorf("%s's clock was %v ahead with a ttl of %v: a caller waited %v", who, by, long, waited)
		}
		p, err := s.Decode(last)
		if err != nil || time.Until(p.Time).Abs() > long {
			t.Errorf("after %s's clock was %v ahead: %v is stamped %v: %v", who, by, time.Now(), p.Time, err)
		}
	})
}
