package sequence

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// ledger notes numbers, none of which may come twice.
type ledger struct {
	mu   sync.Mutex
	seen map[int64]bool
}

func (l *ledger) add(t testing.TB, numbers ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[int64]bool{}
	}
	for _, n := range numbers {
		if l.seen[n] {
			t.Errorf("number %d came twice", n)
		}
		l.seen[n] = true
	}
}

// Many goroutines of several programs take in every way there is, of one
// store and of several, while the stores lose calls and answers or are
// slow, and programs end and begin.
func TestNoNumberTwice(t *testing.T) {
	for _, c := range []struct {
		mode   Mode
		stores int
	}{{Fast, 1}, {Dense, 1}, {Strict, 1}, {Fast, 3}, {Dense, 3}} {
		synctest.Test(t, func(t *testing.T) {
			all := newStores(c.stores)
			createAny(t, 5, Definition{Mode: c.mode, MinRange: 3, MaxRange: 50}, all...)
			var calls atomic.Int64
			sometimes := func(nth int64) func(string) error {
				return func(string) error {
					n := calls.Add(1)
					if n%5 == 0 && c.stores > 1 {
						time.Sleep(hedge * time.Duration(n%3))
					}
					if n%nth == 0 {
						return errFault
					}
					return nil
				}
			}
			var l ledger
			for range 3 {
				for _, st := range all {
					st.fail(nil, nil)
				}
				var programs []*Sequence
				for range 3 {
					if c.stores == 1 {
						programs = append(programs, open(t, all[0], nil))
					} else {
						programs = append(programs, openAny(t, all...))
					}
				}
				for _, st := range all {
					st.fail(sometimes(7), sometimes(11))
				}
				var wg sync.WaitGroup
				for i, s := range programs {
					for g := range 4 {
						wg.Go(func() { use(t, s, &l, g+i) })
					}
				}
				wg.Wait()
				for _, s := range programs {
					s.Close()
				}
			}
		})
	}
}

// use takes numbers in a way of its own, some of them with a short timeout.
func use(t *testing.T, s *Sequence, l *ledger, way int) {
	local := s.Local()
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%5 == 4 {
			time.AfterFunc(time.Millisecond, cancel)
		}
		var numbers []int64
		var err error
		switch way % 5 {
		case 0:
			var n int64
			n, err = s.Next(ctx)
			numbers = []int64{n}
		case 1:
			var r Range
			r, err = s.Reserve(ctx, int64(1+i%9))
			for n := r.First; int64(len(numbers)) < r.Count; n += r.Step {
				numbers = append(numbers, n)
			}
		case 2:
			numbers = make([]int64, i%20)
			var n int
			n, err = s.Fill(ctx, numbers)
			l.add(t, numbers[:n]...)
			numbers = nil
		case 3:
			var n int64
			n, err = local.Next(ctx)
			numbers = []int64{n}
		case 4:
			var n int64
			n, err = s.TryNext()
			numbers = []int64{n}
		}
		if err == nil {
			l.add(t, numbers...)
		} else if !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNotReady) {
			t.Error(err)
		}
		cancel()
	}
}

// A take whose answer did not come is lost, even if it was done.
func TestTakeWithUnknownOutcomeIsLost(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1)
	st.fail(nil, first("add", errFault))
	expect(t, s, 3)
	st, s = made(t, Definition{Mode: Strict})
	st.fail(first("add", errFault), nil)
	expect(t, s, 1) // nothing was done
}

// A process asks the store one thing at a time, however many wait.
func TestOneCallUnderWay(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense, Strict} {
		st, s := made(t, Definition{Mode: mode, MinRange: 2, MaxRange: 2})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					wantErr(t, errOf(s.Next(t.Context())), nil, "taken")
				}
			})
		}
		wg.Wait()
		s.Close()
		if st.most != 1 {
			t.Errorf("%s: %d calls at once", mode, st.most)
		}
	}
}

// gate holds up each take until it is let through.
func gate(st *shaky) (entered chan struct{}, through chan struct{}) {
	entered, through = make(chan struct{}), make(chan struct{})
	st.fail(func(op string) error {
		if op == "add" {
			entered <- struct{}{}
			<-through
		}
		return nil
	}, nil)
	return entered, through
}

// One write serves all who wait when it begins. Who comes later is served
// by a later write, because another program may have got a higher number in
// the meantime.
func TestStrictServesThoseWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{Mode: Strict})
		entered, through := gate(st)
		got := make(chan int64, 100)
		next := func() {
			n, err := s.Next(t.Context())
			noError(t, err)
			got <- n
		}
		go next()
		<-entered
		for range 5 {
			go next()
		}
		synctest.Wait()
		st.count("add")
		if _, _, err := store.Add(t.Context(), st.Store, addition(st, t, 10)); err != nil { // another program
			t.Fatal(err)
		}
		through <- struct{}{}
		<-entered
		if n := <-got; n != 11 || len(got) != 0 {
			t.Errorf("the first number is %d, and %d more were given", n, len(got))
		}
		if _, _, err := store.Add(t.Context(), st.Store, addition(st, t, 10)); err != nil {
			t.Fatal(err)
		}
		through <- struct{}{}
		synctest.Wait()
		var numbers []int64
		for range 5 {
			numbers = append(numbers, <-got)
		}
		slices.Sort(numbers)
		if !slices.Equal(numbers, []int64{22, 23, 24, 25, 26}) || st.count("add") != 1 {
			t.Errorf("those who came later got %v", numbers)
		}
	})
}

// addition is another program's.
func addition(st *shaky, t *testing.T, n int64) store.Addition {
	r := st.record(t, name)
	return store.Addition{Key: r.Key, N: n, Limit: 1 << 53, Generation: r.Generation, Nonce: r.Nonce + "'"}
}

// A caller that leaves costs other callers nothing: before the take
// nothing, and after it numbers of its own.
func TestCallerWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{Mode: Strict})
		entered, through := gate(st)
		call := func(ctx context.Context, n int64) chan error {
			c := make(chan error, 1)
			go func() {
				_, err := s.Reserve(ctx, n)
				c <- err
			}()
			synctest.Wait()
			return c
		}
		ctx, cancel := context.WithCancel(t.Context())
		inTake := call(ctx, 3)
		<-entered
		queued, stays := call(ctx, 5), call(t.Context(), 7)
		cancel()
		for _, c := range []chan error{inTake, queued} {
			wantErr(t, <-c, context.Canceled, "who left")
		}
		ctx, cancel = context.WithCancel(t.Context())
		second := call(ctx, 1)
		through <- struct{}{}
		<-entered
		cancel()
		wantErr(t, <-second, context.Canceled, "who left")
		through <- struct{}{}
		noError(t, <-stays)
		if r := st.record(t, name); r.From != 3+7+1 {
			t.Errorf("%d numbers were taken, want 11", r.From)
		}
	})
}

// A store that fails is asked again, ever more rarely, as long as a call
// waits. The caller learns at its timeout what was wrong, but not where the
// database is: that is in the log.
func TestStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		st := newShaky()
		create(t, st, Definition{Mode: Strict})
		s := open(t, st, &Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		st.fail(always("add", &store.Failure{Err: errFault, Text: "db: 10.0.0.7: refused", Public: "db"}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Next(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errFault) ||
			strings.Contains(err.Error(), "10.0.0.7") {
			t.Errorf("%v", err)
		}
		if n := st.count("add"); n < 50 || n > 90 { // a pause of a second on average
			t.Errorf("the store was asked %d times in a minute", n)
		}
		time.Sleep(time.Hour)
		if n := st.count("add"); n > 1 {
			t.Errorf("the store was asked %d times while no call waited", n)
		}
		time.AfterFunc(time.Minute, func() { st.fail(nil, nil) })
		began := time.Now()
		expect(t, s, 1)
		if d := time.Since(began); d > 62*time.Second {
			t.Errorf("it took %v", d)
		}
		expect(t, s, 2, 3)
		if log := text.String(); strings.Count(log, "\n") != 2 || strings.Count(log, "10.0.0.7: refused") != 1 {
			t.Errorf("the log:\n%s", log)
		}
	})
}

// The first pause is short, and a store that fails is not asked for a range
// that no call has begun.
func TestStoreThatFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{})
		st.fail(first("add", errFault), nil)
		began := time.Now()
		expect(t, s, 1)
		if d := time.Since(began); d < shortestPause/2 || d > 3*shortestPause/2 {
			t.Errorf("the first pause was %v", d)
		}
		st, s = made(t, Definition{})
		st.fail(always("add", errFault), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, errOf(s.Next(ctx)), errFault, "")
		st.count("add")
		time.Sleep(time.Hour)
		if n := st.count("add"); n > 1 {
			t.Errorf("the store was asked %d times while no call waited", n)
		}
	})
}

// A call to a store that hangs ends, and another one is tried.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newShaky()
		create(t, st, Definition{})
		h := &hanging{Store: st}
		s := open(t, h, nil)
		h.hangs = 1
		began := time.Now()
		expect(t, s, 1)
		if d := time.Since(began); d < callTimeout || d > callTimeout+time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// hanging is a store whose additions never answer, so many times.
type hanging struct {
	store.Store
	hangs int
}

func (h *hanging) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	if h.hangs--; h.hangs >= 0 {
		<-ctx.Done()
		return store.Record{}, store.Reply{}, ctx.Err()
	}
	return h.Store.Add(ctx, a)
}

// Errors that no waiting mends come at once, and the record is read before
// the next take.
func TestErrorsThatNoWaitingMends(t *testing.T) {
	for i, kind := range []error{store.ErrReplaced, lease.ErrRefused, store.ErrReplaced, lease.ErrRefused} {
		st, s := made(t, Definition{})
		if i > 1 {
			s = openAny(t, st)
		}
		st.fail(always("add", kind), nil)
		refused(t, s, kind)
		st.fail(always("get", kind), nil)
		st.count("add")
		refused(t, s, kind)
		if n := st.count("add"); n != 0 {
			t.Errorf("%v: %d takes before the record was read", kind, n)
		}
		st.fail(nil, nil)
		expect(t, s, 1)
	}
}

// At the end all numbers were given, and none comes back. A higher max is
// noticed.
func TestEnd(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense, Strict} {
		st, s := made(t, Definition{Mode: mode, Max: new(int64(5))})
		expect(t, s, 1, 2, 3, 4, 5)
		refused(t, s, ErrEnded)
		st.count("add")
		refused(t, s, ErrEnded)
		if n := st.count("add"); n != 0 {
			t.Errorf("%s: %d takes after the end", mode, n)
		}
		noError(t, Update(t.Context(), st, name, Changes{Max: new(int64(7))}))
		expect(t, s, 6, 7)
		refused(t, s, ErrEnded)
	}
}
