package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// numbered makes a sequence.
func numbered(t *testing.T, st store.Store, name string, d sequence.Definition) {
	t.Helper()
	noError(t, sequence.Create(t.Context(), st, name, d))
}

// takes fails the test unless a take of n numbers begins with first.
func (s *Service) takes(t *testing.T, name string, n, first int64) {
	t.Helper()
	got, err := s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, name, 0, n, 0)
	if err != nil || got.First != first || got.Count != n {
		t.Fatalf("%+v, %v, want %d from %d", got, err, n, first)
	}
}

// refuses fails the test unless a take of n numbers is an error of a kind
// with a text in it.
func (s *Service) refuses(t *testing.T, name string, n int64, k Kind, text string) {
	t.Helper()
	got, err := s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, name, 0, n, 0)
	if err == nil || KindOf(err) != k || !strings.Contains(err.Error(), text) {
		t.Errorf("%+v, %v, want %s: %s", got, err, k.Name(), text)
	}
}

// lastIs fails the test unless it is the last number given.
func (s *Service) lastIs(t *testing.T, name string, want int64, there bool) {
	t.Helper()
	got, ok, err := must(s.Sequences.Find(t.Context(), &Caller{}, name)).LastNumber(t.Context(), 0)
	if err != nil || ok != there || ok && got != want {
		t.Fatalf("%d, %t, %v, want %d, %t", got, ok, err, want, there)
	}
}

func TestNumbersToTheEnd(t *testing.T) {
	st := newStore(t)
	numbered(t, st, "few", sequence.Definition{
		Start: new(int64(math.MinInt64)), Max: new(int64(math.MinInt64 + 3)), Mode: sequence.Strict,
	})
	s := newService(t, st, Options{})
	s.lastIs(t, "few", 0, false)
	s.refuses(t, "few", 0, Invalid, "1 to 1000000")
	s.refuses(t, "few", MaxBatch+1, Invalid, "1 to 1000000")
	s.takes(t, "few", 1, math.MinInt64)
	s.lastIs(t, "few", math.MinInt64, true)
	s.takes(t, "few", 3, math.MinInt64+1)
	s.refuses(t, "few", 1, Ended, "snowfence sequence change few --max M")
	s.lastIs(t, "few", math.MinInt64+3, true)
	newService(t, st, Options{}).lastIs(t, "few", math.MinInt64+3, true)
}

// keyStore is a store of which a test can count the calls, and stop or
// break those for some keys.
type keyStore struct {
	store.Store
	calls atomic.Int64
	mu    sync.Mutex
	away  map[string]error         // by namespace of a key
	held  map[string]chan struct{} // until it is closed
}

func newKeyStore() *keyStore {
	return &keyStore{Store: store.NewMemory(), away: map[string]error{}, held: map[string]chan struct{}{}}
}

func (s *keyStore) fail(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away["#"+name] = err
}

func (s *keyStore) hold(name string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held["#"+name] = held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, "#"+name)
		close(held)
	})
}

func (s *keyStore) call(ctx context.Context, name string) error {
	s.calls.Add(1)
	s.mu.Lock()
	held, err := s.held[name], s.away[name]
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (s *keyStore) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	for _, k := range keys {
		if err := s.call(ctx, k.Namespace); err != nil {
			return nil, store.Reply{}, err
		}
	}
	return s.Store.Get(ctx, keys)
}

func (s *keyStore) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	if err := s.call(ctx, a.Key.Namespace); err != nil {
		return store.Record{}, store.Reply{}, err
	}
	return s.Store.Add(ctx, a)
}

// Trouble of one sequence keeps no other waiting. Callers hear of a store
// that fails in a second, and after that at once; numbers that are held go
// on.
func TestTroubleOfOneSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		for _, name := range []string{"good", "bad", "slow"} {
			numbered(t, st, name, sequence.Definition{MinRange: 10, MaxRange: 10})
		}
		observed, _ := Observe(st, nil)
		s := newService(t, observed, Options{})
		for _, name := range []string{"good", "bad", "slow"} {
			s.takes(t, name, 1, 1)
		}
		synctest.Wait()
		st.fail("bad", errors.New("secret-host: connection refused"))
		release := st.hold("slow")
		for i := range int64(19) {
			s.takes(t, "bad", 1, i+2)
			s.takes(t, "slow", 1, i+2)
		}
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { s.refuses(t, "slow", 1, Unavailable, "") })
			callers.Go(func() {
				began := time.Now()
				s.refuses(t, "bad", 1, Unavailable, "no number came")
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
		synctest.Wait()
		for i := range int64(100) {
			s.takes(t, "good", 1, i+2)
		}
		time.Sleep(1500 * time.Millisecond)
		calls := st.calls.Load()
		for range 1000 { // who asks again at once does not ask the store
			_, err := s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, "bad", 0, 1, 0)
			if err == nil || strings.Contains(err.Error(), "secret-host") {
				t.Fatal(err)
			}
		}
		if more := st.calls.Load() - calls; more > 20 {
			t.Errorf("%d calls of the store", more)
		}
		callers.Wait()
		st.fail("bad", nil)
		release()
		time.Sleep(3 * time.Second)
		s.takes(t, "bad", 1, 21)
		s.takes(t, "slow", 1, 21)
		s.takes(t, "good", 1, 102)
	})
}

// The last number is known for each of the last periods, in whichever order
// it is told.
func TestLastNumberOfEachPeriod(t *testing.T) {
	var up, down givenOut
	down.down = true
	for _, g := range []*givenOut{&up, &down} {
		g.last.Store(g.none())
		if _, ok := g.lastOf(0); ok {
			t.Error("a number before any")
		}
		for _, n := range []int64{5, 7, 6} {
			g.noteNumber(0, n)
		}
	}
	for period := range int64(10) {
		for _, n := range []int64{2, 1} {
			up.noteNumber(2026+period, n)
		}
	}
	up.noteNumber(2035, 0)
	if n, ok := up.lastOf(0); n != 7 || !ok {
		t.Error(n, ok)
	}
	if n, ok := down.lastOf(0); n != 5 || !ok {
		t.Error(n, ok)
	}
	for period := range int64(10) {
		if n, ok := up.lastOf(2026 + period); ok != (period >= 10-keptPeriods) || ok && n != 2 {
			t.Error(period, n, ok)
		}
	}
	if up.period() != 2035 || down.period() != 0 {
		t.Error(up.period(), down.period())
	}
}

// A client that asks for what does not exist costs no memory and few calls
// of the store.
func TestSequencesThatDoNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		s := newService(t, st, Options{})
		for range 1000 {
			s.refuses(t, "later", 1, NoSequence, "snowfence sequence create later, or PUT /v1/later/sequence")
		}
		if n := st.calls.Load(); n > 2 {
			t.Errorf("%d calls of the store", n)
		}
		numbered(t, st, "later", sequence.Definition{})
		s.refuses(t, "later", 1, NoSequence, "create")
		s.Sequences.askAnew("later") // as when this server makes it
		s.takes(t, "later", 1, 1)
		for i := range 3 * maxOpening {
			s.refuses(t, fmt.Sprint("wrong", i), 1, NoSequence, "create it")
			s.refuses(t, fmt.Sprint("wrong/", i), 1, Invalid, "letters")
			s.refuses(t, strings.Repeat("x", 1000+i), 1, Invalid, "63")
		}
		if n := len(s.Sequences.failures); n > maxOpening {
			t.Errorf("%d errors are remembered", n)
		}
		if n := len(s.Sequences.List()) + len(s.Sequences.attempts); n != 1 {
			t.Errorf("%d sequences are open", n)
		}
	})
}

// A sequence that is deleted and comes back goes on with the same server,
// and one that is not there any more is none that begins again: the server
// remembers what it took.
func TestSequenceIsDeletedAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		numbered(t, st, "orders", sequence.Definition{Mode: sequence.Strict})
		s := newService(t, st, Options{})
		s.takes(t, "orders", 10, 1)
		noError(t, sequence.Delete(t.Context(), st, "orders"))
		s.refuses(t, "orders", 1, NoSequence, "it was deleted")
		numbered(t, st, "orders", sequence.Definition{Mode: sequence.Strict})
		time.Sleep(failureTTL)
		s.takes(t, "orders", 1, 11)
		st.Store = store.NewMemory() // a backup of before
		numbered(t, st, "orders", sequence.Definition{Mode: sequence.Strict})
		s.refuses(t, "orders", 1, RolledBack, "snowfence sequence confirm orders --floor N")
	})
}

// A server keeps a bounded number of sequences. An unused one makes room,
// gives back what it holds, and goes on when it is wanted again.
func TestManySequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		for i := range 4 {
			numbered(t, st, fmt.Sprint("s", i), sequence.Definition{Mode: sequence.Dense})
		}
		s := newService(t, st, Options{Sequences: 3})
		for i := range 3 {
			s.takes(t, fmt.Sprint("s", i), 1, 1)
			time.Sleep(time.Second)
		}
		old := must(s.Sequences.Find(t.Context(), &Caller{}, "s0"))
		s.refuses(t, "s3", 1, TooMuch, "3 sequences")
		time.Sleep(unusedAfter - 2*time.Second)
		s.takes(t, "s3", 1, 1)
		synctest.Wait()
		wantErr(t, errOf(old.Take(t.Context(), 0, 1)), sequence.ErrClosed, "")
		s.lastIs(t, "s2", 1, true)
		time.Sleep(2 * time.Second)
		s.takes(t, "s0", 1, 2) // it gave back the rest; now s1 makes room
		s.lastIs(t, "s0", 2, true)
		got := s.Sequences.List()
		if len(got) != 3 || got[0].Name != "s0" || got[1].Name != "s2" || got[2].Name != "s3" {
			t.Error(got)
		}
	})
}

// A server that stops ends who waits, and gives back what dense sequences
// hold within its time.
func TestSequencesOfAServerThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		numbered(t, st, "dense", sequence.Definition{Mode: sequence.Dense})
		numbered(t, st, "stuck", sequence.Definition{Mode: sequence.Dense})
		s := New(st, Options{})
		s.takes(t, "dense", 7, 1)
		synctest.Wait()
		defer st.hold("stuck")()
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			s.refuses(t, "stuck", 1, Unavailable, "stopping")
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_ = s.Close(ctx) // it may say that something is stuck
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		s.refuses(t, "dense", 1, Unavailable, "stopping")
		<-waited
		newService(t, st, Options{}).takes(t, "dense", 1, 8)
	})
}

// Every number counts for the rate of a token, and its namespaces are names
// of sequences too.
func TestRightsToNumbers(t *testing.T) {
	st := newKeyStore()
	numbered(t, st, "shop.orders", sequence.Definition{})
	s := newService(t, st, Options{})
	sum := strings.Repeat("00", 32)
	a := must(NewAuth([]Token{{Name: "shop", SHA256: sum, Namespaces: []string{"shop.*"}, Rate: 0.001, Burst: 10}}))
	id := a.tokens[0]
	for n, want := range []struct {
		name string
		n    int64
		kind Kind
	}{{"orders", 1, Denied}, {"shop.orders", 11, TooMuch}, {"shop.orders", 10, -1}, {"shop.orders", 1, TooMuch}} {
		_, err := s.Sequences.Take(t.Context(), &Caller{Identity: id}, want.name, 0, want.n, 0)
		if err == nil != (want.kind < 0) || err != nil && KindOf(err) != want.kind {
			t.Errorf("%d: %v", n, err)
		}
	}
	wantKind(t, errOf(s.Sequences.Take(t.Context(), &Caller{}, "shop.orders", 0, 1, 0)), Anonymous)
}

// The reserve lasts as long as what is held does at the rate of the last
// while.
func TestStatusOfASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		numbered(t, st, "orders", sequence.Definition{Max: new(int64(100_000))})
		s := newService(t, st, Options{})
		sq := must(s.Sequences.Find(t.Context(), &Caller{}, "orders"))
		if got := sq.Status(); got.Given || got.Rate != 0 || !math.IsInf(got.Reserve, 1) || !math.IsInf(got.Ends, 1) {
			t.Errorf("%+v", got)
		}
		for range 30 {
			time.Sleep(time.Second)
			s.takes(t, "orders", 10, sq.Taken.Load()+1)
			sq.Status()
		}
		synctest.Wait()
		got := sq.Status()
		if !got.Given || got.Last != 300 || got.Taken != 300 || got.Rate < 9.9 || got.Rate > 11.1 ||
			got.Reserve != float64(got.Held)/got.Rate || got.Ends != float64(got.Left)/got.Rate ||
			got.Held+got.Left != 100_000-300 {
			t.Errorf("%+v", got)
		}
	})
}
