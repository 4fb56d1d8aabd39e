package lease

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// doubt has the next renewal read the record first, because one had no
// answer.
func (g *stage) doubt() {
	g.Helper()
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error {
		g.st.onSwap = nil
		return silent(len(ws))
	}
	if err := g.do(g.l.claim.Next(g.Context())); !errors.Is(err, errSilent) {
		g.Fatal(err)
	}
}

// heard collects events, each of which calls hear first.
func (g *stage) heard(hear func(e Event)) func() []string {
	var kinds []string
	turn := make(chan struct{}, 1) // calls may overlap
	g.o.Events = func(e Event) {
		hear(e)
		turn <- struct{}{}
		kinds = append(kinds, e.Kind)
		<-turn
	}
	g.l.reports.announced = g.o.Events
	return func() []string {
		synctest.Wait()
		return kinds
	}
}

// A callback hears of a loss after the seal, and may use the lease, because
// no lock is held. A slow one delays no renewal. No event comes twice.
func TestEventsOfALoss(t *testing.T) {
	for name, c := range map[string]struct {
		revision int64
		want     []string
	}{
		"another holder":           {9, []string{EventLost}},
		"a store that rolled back": {0, []string{EventLost, EventRolledBack, EventFloorRaised}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := holding(t)
			g.pace()
			g.doubt()
			var log strings.Builder
			g.logTo(slog.NewTextHandler(&log, nil))
			var sealed atomic.Bool
			returned := make(chan struct{})
			_, err := g.l.Bind(func() int64 { sealed.Store(true); return 0 })
			g.must(err)
			kinds := g.heard(func(e Event) {
				<-returned
				if !sealed.Load() || e.Namespace != "n" || (e.Cause == nil) != (e.Kind != EventLost) {
					t.Errorf("%s: sealed %t: %+v", name, sealed.Load(), e)
				}
				g.l.Status()
				g.must(g.l.lock(t.Context()))
				g.l.unlock()
			})
			g.handed()
			g.change(5, func(r *store.Record) { r.Nonce, r.Revision, r.Holder = "another", c.revision, "" })
			g.l.attend() // and not wait for the callback
			close(returned)
			g.must(g.l.lock(t.Context()))
			g.l.mu.Lock()
			g.l.drop(nil)
			g.l.mu.Unlock()
			_ = g.l.sealIfLost(claim.Lost(store.ErrLost)) // with nothing held that is no event
			g.l.unlock()
			if got := kinds(); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q", name, got)
			}
			lost := `level=WARN msg="lease lost" namespace=n label=stage cause="another process changed node 5`
			back := `level=ERROR msg="the store was rolled back" namespace=n node=5 revision=`
			if text := log.String(); !strings.Contains(text, lost) ||
				strings.Contains(text, back) != (c.revision == 0) {
				t.Errorf("%s: the log has\n%s", name, text)
			}
		})
	}
}

// A renewal that fails again and again is told of at once, a second later,
// two and four.
func TestEventsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := holding(t)
		p := g.pace()
		kinds := g.heard(func(e Event) {
			if e.Cause == nil {
				t.Error("there is no cause")
			}
		})
		g.st.onGet = func([]store.Key) error { return errSilent }
		g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		for range 5 {
			g.l.attend()
			p.now = p.now.Add(time.Second)
		}
		if got := kinds(); !slices.Equal(got, []string{EventLate, EventLate, EventLate}) {
			t.Errorf("%q", got)
		}
	})
}

// A program that acquires in a restored store is told, with a lease or a
// ticket. Its log has the store's trouble as an error, and what follows as
// a warning.
func TestEventsOfAcquiring(t *testing.T) {
	for name, acquire := range map[string]func(g *stage, o *Options) error{
		"a lease": func(g *stage, o *Options) error {
			l, err := Open(g.Context(), g.st, "n", g.l.setup.Scheme, o)
			if err == nil {
				g.Cleanup(func() { g.must(l.Close()) })
			}
			return err
		},
		"a ticket": func(g *stage, o *Options) error {
			_, err := acquired(g.Context(), g.st, "n", g.l.setup.Scheme, wire.Request{}, o)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := holding(t)
			g.st.id = "two"
			kinds := g.heard(func(Event) {})
			var log strings.Builder
			o := g.o
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			g.must(acquire(g, &o))
			if got := kinds(); !slices.Equal(got, []string{EventReplaced, EventFloorRaised}) {
				t.Errorf("%s: %q", name, got)
			}
			for _, want := range []string{
				`level=ERROR msg="the store is not the one the namespace was made in" namespace=n was=one is=two` + "\n",
				`level=WARN msg="floor raised" namespace=n until=`,
			} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%s: the log has no %s:\n%s", name, want, log.String())
				}
			}
		})
	}
}
