package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/sequence"
)

// opened returns a sequence of servers, which is made first.
func opened(t testing.TB, st store.Store, c *remote.Client, d sequence.Definition) *sequence.Sequence {
	t.Helper()
	noError(t, sequence.Create(t.Context(), st, "orders", d))
	s := must(c.Sequence(t.Context(), "orders"))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What each method does, in each mode.
func TestRemoteSequence(t *testing.T) {
	for _, mode := range []sequence.Mode{sequence.Fast, sequence.Dense, sequence.Strict} {
		t.Run(string(mode), func(t *testing.T) {
			st := store.NewMemory()
			c := client(t, serve(t, st, server.Options{}))
			s := opened(t, st, c, sequence.Definition{
				Mode: mode, Start: new(int64(1000)), Step: 3, Max: new(int64(100_000)),
			})
			last := int64(999)
			rises := func(what string, n int64, err error) {
				t.Helper()
				if err != nil || n <= last || (n-1000)%3 != 0 {
					t.Fatalf("%s: %d after %d: %v", what, n, last, err)
				}
				last = n
			}
			for range 500 {
				n, err := s.Next(t.Context())
				rises("Next", n, err)
			}
			wantErr(t, errOf(c.Dated(t.Context(), "orders")), sequence.ErrDated, "a plain one")
			wantErr(t, errOf(s.Reserve(t.Context(), 900_000)), sequence.ErrEnded, "more than there are")
			more := sequence.Changes{Max: new(int64(10_000_000))}
			noError(t, sequence.Update(t.Context(), st, "orders", more))
			n, err := s.Next(t.Context())
			rises("after max was raised", n, err)
			noError(t, s.Close())
			wantErr(t, errorOf(s.Next(t.Context())), sequence.ErrClosed, "after Close")
		})
	}
	st := store.NewMemory()
	c := client(t, serve(t, st, server.Options{}))
	wantErr(t, errOf(c.Sequence(t.Context(), "nowhere")), sequence.ErrNoSequence, "no sequence")
}

// Serials of a dated sequence have their texts; several callers get
// different ones, and it is not opened as a plain one.
func TestRemoteSerials(t *testing.T) {
	st := store.NewMemory()
	c := client(t, serve(t, st, server.Options{}))
	d := sequence.Definition{Pattern: "{yy}{month}-{n:3+}", Zone: "Europe/Berlin"}
	noError(t, sequence.Create(t.Context(), st, "orders", d))
	wantErr(t, errOf(c.Sequence(t.Context(), "orders")), sequence.ErrDated, "as a plain one")
	s := must(c.Dated(t.Context(), "orders"))
	first, err := s.Next(t.Context())
	if err != nil || first.N != 1 || first.Text != fmt.Sprintf("%04d-001", first.Period%10000) {
		t.Fatalf("%+v, %v", first, err)
	}
	var (
		mu   sync.Mutex
		seen = map[string]bool{first.Text: true}
		all  sync.WaitGroup
	)
	for range 8 {
		all.Go(func() {
			for range 50 {
				r, err := s.Reserve(t.Context(), 0, 3)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i := range r.Count {
					text := r.At(i).Text
					if seen[text] {
						t.Errorf("%s came twice", text)
					}
					seen[text] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != 1201 {
		t.Errorf("%d serials", len(seen))
	}
	d.Pattern = "{year}-{month:shown}-{n:3}"
	noError(t, sequence.Create(t.Context(), st, "bills", d))
	bills := must(c.Dated(t.Context(), "bills"))
	last := fmt.Sprintf("%d-12-001", first.Period/100-1)
	if r, err := bills.Reserve(t.Context(), first.Period/100-1, 1); err != nil || r.At(0).Text != last {
		t.Errorf("%+v, %v, not %s", r, err, last)
	}
	r, err := s.Reserve(t.Context(), first.Period, 2)
	if err != nil || r.Count != 2 || r.Period != first.Period || seen[r.At(0).Text] || seen[r.At(1).Text] {
		t.Errorf("of a period by name: %+v, %v", r, err)
	}
	for what, c := range map[string]struct{ err, want error }{
		"a period far ahead": {errorOf(s.Reserve(t.Context(), first.Period+1000, 1)), sequence.ErrPeriod},
		"too many":           {errorOf(s.Reserve(t.Context(), 0, 1_000_001)), lease.ErrInvalid},
		"none of a period":   {errorOf(s.Reserve(t.Context(), first.Period, 0)), lease.ErrInvalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	_ = s.Close()
	for _, err := range []error{errorOf(s.Next(t.Context())), errorOf(s.Reserve(t.Context(), first.Period, 1))} {
		wantErr(t, err, sequence.ErrClosed, "after Close")
	}
}

// A caller who takes a number now and then leaves no gap at Close, because
// nothing is asked for ahead before numbers are wanted quickly.
func TestRemoteSequenceOfAFewNumbers(t *testing.T) {
	st := store.NewMemory()
	c := client(t, serve(t, st, server.Options{}))
	s := opened(t, st, c, sequence.Definition{})
	for want := range int64(5) {
		n, err := s.Next(t.Context())
		if err != nil || n != want+1 {
			t.Fatalf("%d, %v, want %d", n, err, want+1)
		}
		noError(t, s.Close())
		s = must(c.Sequence(t.Context(), "orders"))
	}
	_ = s.Close()
}

// Of two servers one is killed while several callers take numbers: they go
// on with the other, no number comes twice, and numbers of a strict
// sequence are in order over all.
func TestRemoteSequenceFailOver(t *testing.T) {
	for _, mode := range []sequence.Mode{sequence.Fast, sequence.Dense, sequence.Strict} {
		t.Run(string(mode), func(t *testing.T) {
			st := store.NewMemory()
			a, b := serve(t, st, server.Options{}), serve(t, st, server.Options{})
			s := opened(t, st, client(t, a, b), sequence.Definition{Mode: mode})
			other := must(client(t, b).Sequence(t.Context(), "orders"))
			defer other.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var (
				mu      sync.Mutex
				seen    = map[int64]bool{}
				highest atomic.Int64 // of the calls that have ended
				made    [4]atomic.Int64
				all     sync.WaitGroup
			)
			for i := range made {
				from := []*sequence.Sequence{s, other}[i%2]
				all.Go(func() {
					for ctx.Err() == nil {
						before := highest.Load()
						r, err := from.Reserve(ctx, int64(1+i))
						if err != nil {
							if ctx.Err() == nil {
								t.Errorf("%d: %v", i, err)
							}
							return
						}
						if mode == sequence.Strict && r.First <= before {
							t.Errorf("%d after %d", r.First, before)
						}
						mu.Lock()
						for n := r.First; n <= r.Last(); n++ {
							if seen[n] {
								t.Errorf("%d came twice", n)
							}
							seen[n] = true
						}
						highest.Store(max(highest.Load(), r.Last()))
						mu.Unlock()
						made[i].Add(1)
						time.Sleep(100 * time.Microsecond) // what is tested is not the speed
					}
				})
			}
			more := func(what string) {
				var before [len(made)]int64
				for i := range made {
					before[i] = made[i].Load()
				}
				until(t, what, func() bool {
					for i := range made {
						if made[i].Load() <= before[i]+100 {
							return t.Failed()
						}
					}
					return true
				})
			}
			more("numbers come")
			a.kill()
			more("numbers come from the second server")
			cancel()
			all.Wait()
		})
	}
}

// While no server answers, a call waits as long as its ctx, and says then
// what servers said. It goes on when one is back.
func TestRemoteSequenceWaitsForAServer(t *testing.T) {
	st := store.NewMemory()
	a, b := serve(t, st, server.Options{}), serve(t, st, server.Options{})
	s := opened(t, st, client(t, a, b), sequence.Definition{Mode: sequence.Strict})
	a.kill()
	b.kill()
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() { waits <- errorOf(s.Next(ctx)) }()
	until(t, "the call has met the servers that are gone", func() bool {
		short, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer done()
		err := errorOf(s.Next(short))
		return strings.Contains(err.Error(), "the last answer was")
	})
	select {
	case err := <-waits:
		t.Errorf("it gave up: %v", err)
	default:
	}
	cancel()
	tests.Refuses(t, <-waits, context.Canceled, a.URL)
}

// A token whose rate allows fewer numbers at once than would be asked for
// ahead is no hindrance.
func TestRemoteSequenceOfALimitedToken(t *testing.T) {
	w := start(t)
	noError(t, sequence.Create(t.Context(), w.service.Store(), "orders", sequence.Definition{}))
	w.as(server.Token{Rate: 1e6, Burst: 20})
	c := must(remote.Dial([]string{w.url}, nil))
	defer c.Close()
	s, ids := must(c.Sequence(t.Context(), "orders")), must(c.Source("default", nil))
	defer s.Close()
	defer ids.Close()
	last := int64(0)
	for range 2000 {
		must(ids.Next(t.Context()))
		n, err := s.Next(t.Context())
		if err != nil || n <= last {
			t.Fatalf("%d after %d: %v", n, last, err)
		}
		last = n
		time.Sleep(20 * time.Microsecond)
	}
	says(t, errOf(s.Reserve(t.Context(), 21)), "ask for fewer", "more than the token may have at once")
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
