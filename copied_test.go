package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// here is a machine that was never copied.
var here = world.Real().Machine()

// resumable is a fence on a machine that is resumed from snapshots: its
// store gives each resumption a node of its own, the number of the counter.
type resumable struct {
	binding
	scheme  *Scheme
	counter atomic.Uint64
	granted func() // called after it is known what is granted, and before the answer
}

// World has the generator see the fence's machine.
func (f *resumable) World() world.World { return resumableWorld{world.Real(), f} }

type resumableWorld struct {
	world.World
	f *resumable
}

func (w resumableWorld) Machine() world.Machine { return world.At(&w.f.counter) }

func (f *resumable) Scheme() *Scheme { return f.scheme }

func (f *resumable) Grant(context.Context, int64) (Grant, error) {
	g := Grant{Node: int64(f.counter.Load()), Until: f.scheme.MaxTick() + 1}
	if f.granted != nil {
		f.granted()
	}
	return g, nil
}

func (f *resumable) Held(after int64) (Grant, bool) {
	g, err := f.Grant(context.Background(), after)
	return g, err == nil
}

func (f *resumable) Release(context.Context, Grant, int64) error { return nil }

func (f *resumable) node(id ID) uint64 {
	return uint64(must(f.scheme.Decode(id)).Node)
}

// doors are all the ways to IDs. Each call makes some of one generator.
var doors = map[string]func(g *Generator) func() ([]ID, error){
	"next":    one(func(g *Generator) (ID, error) { return g.Next(context.Background()) }),
	"trynext": one((*Generator).TryNext),
	"fill": func(g *Generator) func() ([]ID, error) {
		ids := make([]ID, 100)
		return func() ([]ID, error) {
			n, err := g.Fill(context.Background(), ids)
			return ids[:n], err
		}
	},
	"runs": func(g *Generator) func() ([]ID, error) {
		return func() (ids []ID, _ error) {
			runs, err := g.Runs(context.Background(), nil, 100)
			for _, r := range runs {
				ids = slices.AppendSeq(ids, r.All())
			}
			return ids, err
		}
	},
	"handle": func(g *Generator) func() ([]ID, error) {
		l := g.Local()
		return one(func(*Generator) (ID, error) { return l.Next(context.Background()) })(g)
	},
	"handle, trynext": func(g *Generator) func() ([]ID, error) {
		l := g.Local()
		return one(func(*Generator) (ID, error) { return l.TryNext() })(g)
	},
}

func one(next func(g *Generator) (ID, error)) func(g *Generator) func() ([]ID, error) {
	return func(g *Generator) func() ([]ID, error) {
		return func() ([]ID, error) {
			id, err := next(g)
			if err != nil {
				return nil, err
			}
			return []ID{id}, nil
		}
	}
}

// copiedSchemes are plain and encrypted, with more IDs in a tick than a
// test makes: what is in memory stays in its tick. A new grant begins a
// tick later, so generators have a lead.
func copiedSchemes(t *testing.T) map[string]*Scheme {
	return map[string]*Scheme{
		"plain":  testScheme("time=22,node=16,seq=25,epoch=2026-01-01,tick=1h"),
		"linear": testScheme("time=22,node=16,seq=25,epoch=2026-01-01,tick=1h,first=5"),
		"encrypted": must(NewScheme(MustLayout("time=22,node=16,seq=25,epoch=2026-01-01,tick=1h,cipher=sparx"),
			GenerateSecret())),
	}
}

// A machine is resumed from a snapshot between two calls: no call gives an
// ID of the grant that its copy has, too, whatever was made ahead.
func TestCopiedMachine(t *testing.T) {
	for layout, s := range copiedSchemes(t) {
		for name, door := range doors {
			for _, coarse := range []bool{false, true} {
				if name == "runs" && s.Encrypted() {
					continue
				}
				f := &resumable{scheme: s}
				g := must(New(Config{Fence: f, Coarse: coarse, Lead: 1000}))
				call := door(g)
				for range 50 {
					for range 3 {
						ids := must(call())
						for _, id := range ids {
							if got, want := f.node(id), f.counter.Load(); got != want {
								t.Fatalf("%s, %s, coarse %v: an ID of resumption %d, after %d", layout, name, coarse,
									got, want)
							}
						}
					}
					f.counter.Add(1)
				}
				noError(t, g.Close())
			}
		}
	}
}

// It is resumed at any moment of any call, on several processors.
func TestCopiedMachineAtAnyMoment(t *testing.T) {
	for layout, s := range copiedSchemes(t) {
		for name, door := range doors {
			if name == "runs" && s.Encrypted() {
				continue
			}
			f := &resumable{scheme: s}
			g := must(New(Config{Fence: f, Coarse: name == "next", Lead: 1000}))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					call := door(g)
					for f.counter.Load() < 100 {
						before := f.counter.Load()
						ids, err := call()
						if errors.Is(err, ErrFenced) && (s.Encrypted() || strings.Contains(name, "trynext")) {
							continue // these do not wait while another call asks the fence
						}
						if err != nil {
							t.Error(err)
							return
						}
						for _, id := range ids {
							if got := f.node(id); got < before {
								t.Errorf("%s, %s: an ID of resumption %d in a call after %d", layout, name, got, before)
								return
							}
						}
						f.counter.CompareAndSwap(before, before+1)
					}
				})
			}
			wg.Wait()
			noError(t, g.Close())
		}
	}
}

// What a fence granted before the machine was resumed is of the machine
// before, also if the answer comes after: the first grant, and later ones.
func TestCopiedWhileTheFenceAnswers(t *testing.T) {
	f := &resumable{scheme: testScheme("twitter")}
	resumptions := 0
	f.granted = func() {
		if resumptions++; resumptions%2 == 1 {
			f.counter.Add(1)
		}
	}
	g := must(New(Config{Fence: f, Lead: 1000}))
	defer g.Close()
	for range 20 {
		id := must(g.Next(t.Context()))
		if got, want := f.node(id), f.counter.Load(); got != want {
			t.Fatalf("an ID of resumption %d after %d", got, want)
		}
		f.counter.Add(1)
	}
}

// A batch that takes long is of one machine: what it took before is made
// again.
func TestCopiedDuringABatch(t *testing.T) {
	const each = 8 // IDs in a tick
	s := testScheme("time=41,node=19,seq=3")
	for name, fill := range map[string]func(g *Generator) ([]ID, error){
		"fill": func(g *Generator) ([]ID, error) {
			ids := make([]ID, 5*each)
			n, err := g.Fill(t.Context(), ids)
			return ids[:n], err
		},
		"runs": func(g *Generator) (ids []ID, _ error) {
			runs, err := g.Runs(t.Context(), []Run{{First: 7, Last: 7, Step: 1}}, 5*each)
			for _, r := range runs[1:] { // it adds to what is there
				ids = slices.AppendSeq(ids, r.All())
			}
			return ids, err
		},
	} {
		f := &resumable{scheme: s}
		start, looks := time.Now(), 0
		g := must(New(Config{Fence: f, Time: func() (time.Time, time.Duration) {
			if looks++; looks == 20 {
				f.counter.Add(1)
			}
			d := time.Duration(looks) * time.Millisecond
			return start.Add(d), d
		}}))
		looks = 15
		ids, err := fill(g)
		if err != nil || len(ids) != 5*each || looks < 20 {
			t.Fatalf("%s: %d IDs after %d looks at the clock: %v", name, len(ids), looks, err)
		}
		for i, id := range ids {
			if got := f.node(id); got != 1 {
				t.Fatalf("%s: ID %d is of resumption %d", name, i, got)
			}
		}
		noError(t, g.Close())
	}
}

// It is resumed while a call looks at the clock, whichever look that is: no
// call that goes on after it gives an ID of the grant before. In virtual
// time a ticker does not look between two calls.
func TestCopiedDuringALookAtTheClock(t *testing.T) {
	for layout, s := range copiedSchemes(t) {
		for name, door := range doors {
			for _, coarse := range []bool{false, true} {
				if name == "runs" && s.Encrypted() {
					continue
				}
				for look := range int64(12) {
					synctest.Test(t, func(t *testing.T) {
						f := &resumable{scheme: s}
						wantErr(t, lookedAt(f, coarse, look, door), nil,
							"%s, %s, coarse %v, look %d", layout, name, coarse, look)
					})
				}
			}
		}
	}
}

// lookedAt makes IDs on a machine that is resumed during one look at the
// clock.
func lookedAt(f *resumable, coarse bool, look int64, door func(g *Generator) func() ([]ID, error)) error {
	var looks atomic.Int64
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	g := must(New(Config{Fence: f, Coarse: coarse, Lead: 1000, Time: func() (time.Time, time.Duration) {
		n := looks.Add(1)
		if n == look {
			f.counter.Add(1)
		}
		d := time.Duration(n) * time.Minute
		return start.Add(d), d
	}}))
	call := door(g)
	for range 5 {
		ids, err := call()
		if err != nil {
			return errors.Join(err, g.Close())
		}
		for _, id := range ids {
			if got, want := uint64(must(f.scheme.Decode(id)).Node), f.counter.Load(); got != want {
				return errors.Join(fmt.Errorf("an ID of resumption %d after %d", got, want), g.Close())
			}
		}
	}
	return g.Close()
}
