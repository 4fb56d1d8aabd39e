package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// slowStore is a store whose calls a test can hold up, count, and let fail.
type slowStore struct {
	lease.Store
	swaps atomic.Int64
	mu    sync.Mutex
	held  chan struct{} // swaps wait for it to be closed; nil when they do not
	away  error
	met   chan struct{} // a swap has begun to wait
}

func (s *slowStore) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.met = make(chan struct{}), make(chan struct{}, 100)
	held := s.held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	})
}

func (s *slowStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

func (s *slowStore) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	s.mu.Lock()
	err := s.away
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, keys)
}

func (s *slowStore) Swap(ctx context.Context, w []lease.Write) []error {
	s.swaps.Add(1)
	s.mu.Lock()
	held, met, err := s.held, s.met, s.away
	s.mu.Unlock()
	if held != nil {
		met <- struct{}{}
		<-held
	}
	if err != nil {
		errs := make([]error, len(w))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return s.Store.Swap(ctx, w)
}

func newStore(t *testing.T, names ...string) *slowStore {
	t.Helper()
	st := &slowStore{Store: lease.NewMemory()}
	for _, name := range names {
		create(t, st, name, "twitter")
	}
	return st
}

func scheme(t *testing.T, layout string) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t *testing.T, st lease.Store, name, layout string) {
	t.Helper()
	if _, err := lease.CreateNamespace(t.Context(), st, name, scheme(t, layout), nil); err != nil {
		t.Fatal(err)
	}
}

func newService(t *testing.T, st lease.Store, o Options) *Service {
	t.Helper()
	s := New(lease.Group(st), o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Close(ctx) // stores of some tests stay unreachable
	})
	return s
}

func (s *Service) one(ctx context.Context, name string) (snowfence.ID, error) {
	sp, err := s.Space(ctx, name)
	if err != nil {
		return 0, err
	}
	return sp.Next(ctx)
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not: ", what)
		}
	}
}

// held returns how many nodes of a namespace somebody holds.
func held(t *testing.T, st lease.Store, name string) (n int) {
	t.Helper()
	rs, err := lease.ListLeases(context.Background(), st, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Holder != "" {
			n++
		}
	}
	return n
}

func TestKinds(t *testing.T) {
	st := newStore(t, "n")
	create(t, st, "few", "twitter")
	s := newService(t, st, Options{})
	ctx := t.Context()
	acquire := func(name string, o lease.Options) error {
		_, _, err := s.Acquire(ctx, Open().Anyone(), name, o)
		return err
	}
	sp, err := s.Space(ctx, "n")
	if err != nil {
		t.Fatal(err)
	}
	node, far := int64(3), int64(5000)
	for _, name := range []string{"n", "few"} {
		if err := acquire(name, lease.Options{Label: "a", Node: &node}); err != nil {
			t.Fatal(err)
		}
	}
	space := func(name string) error { _, err := s.Space(ctx, name); return err }
	create := func(name, layout string, first, last int64) error {
		w := NamespaceSpec{Layout: layout}
		if last > 0 {
			w.First, w.Last = &first, &last
		}
		_, _, err := s.CreateNamespace(ctx, name, w)
		return err
	}
	change := func(name, layout string) error {
		_, err := s.ChangeNamespace(ctx, name, NamespaceSpec{Layout: layout})
		return err
	}
	renew := func(t lease.Ticket, attempt string) error {
		_, _, err := s.Renew(ctx, Open().Anyone(), t, attempt)
		return err
	}
	granted, _, err := s.Acquire(ctx, Open().Anyone(), "n", lease.Options{Label: "b"})
	ticket := granted.Ticket
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(ctx, ticket, 0); err != nil {
		t.Fatal(err)
	}
	_, badTicket := ParseTicket([]byte("{}"))
	_, badTime := ParseTime("yesterday")
	_, badID := sp.Decode(-1)
	_, _, backwards := sp.Range(time.Unix(2, 0), time.Unix(1, 0))
	for _, c := range []struct {
		what string
		err  error
		want Kind
	}{
		{"no namespace", space("nowhere"), NoNamespace},
		{"name with a blank", space("a b"), Invalid},
		{"empty name", space(""), Invalid},
		{"long name", space(fmt.Sprintf("%065d", 0)), Invalid},
		{"created with a bad name", create("a/b", "twitter", 0, 0), Invalid},
		{"created with a bad layout", create("x", "time=99", 0, 0), Invalid},
		{"created with bad nodes", create("x", "twitter", 5, 2000), Invalid},
		{"created again with another layout", create("n", "sonyflake", 0, 0), Exists},
		{"created again with other nodes", create("n", "twitter", 1, 2), Exists},
		{"encrypted without a secret", create("x", "randflake", 0, 0), Refused},
		{"change that collides", change("few", "time=41,node=10,seq=12,epoch=2026-01-01T00:00:00Z,tick=1ms"), Refused},
		{"change of what is not there", change("nowhere", "twitter"), NoNamespace},
		{"change with a bad layout", change("n", "nonsense"), Invalid},
		{"delete without confirmation", s.DeleteNamespace(ctx, "n", ""), Refused},
		{"delete in use", s.DeleteNamespace(ctx, "n", "n"), Refused},
		{"lease without a label", acquire("n", lease.Options{}), Invalid},
		{"lease with a bad ttl", acquire("n", lease.Options{Label: "x", TTL: time.Hour}), Invalid},
		{"lease with a short ttl", acquire("n", lease.Options{Label: "x", TTL: 1}), Invalid},
		{"lease of three nodes", acquire("n", lease.Options{Label: "x", Nodes: 3}), Invalid},
		{"lease of too many nodes", acquire("n", lease.Options{Label: "x", Nodes: 1 << 20}), Invalid},
		{"lease of a node that is not there", acquire("n", lease.Options{Label: "x", Node: &far}), Invalid},
		{"lease of a held node", acquire("n", lease.Options{Label: "x", Node: &node, Guard: true}), NoNodes},
		{"lease in no namespace", acquire("nowhere", lease.Options{Label: "x"}), NoNamespace},
		{"renewal of what was released", renew(ticket, "0123456789abcdef"), Lost},
		{"renewal with a bad attempt", renew(ticket, "x"), Invalid},
		{"bad ticket", badTicket, Invalid},
		{"bad time", badTime, Invalid},
		{"bad ID", badID, Invalid},
		{"range backwards", backwards, Invalid},
		{"batch of none", sp.Batch(ctx, 0, nil), Invalid},
		{"store that is unreachable", fmt.Errorf("dial tcp: connection refused"), Unavailable},
		{"own lease lost", fmt.Errorf("%w: %w", snowfence.ErrFenced, lease.ErrLost), Unavailable},
		{"own lease for another layout", fmt.Errorf("%w: %w", lease.ErrEnded, &lease.MismatchError{}), Unavailable},
		{"lifetime", fmt.Errorf("%w: %w", snowfence.ErrFenced, snowfence.ErrLifetime), Lifetime},
	} {
		if c.err == nil || KindOf(c.err) != c.want {
			t.Errorf("%s: %s (%v), want %s", c.what, KindOf(c.err).Name(), c.err, c.want.Name())
		}
	}
	if err := create("n", "twitter", 0, 0); err != nil {
		t.Errorf("created again as it is: %v", err)
	}
}

// A store that is unreachable is no refusal: the change may be asked for again.
func TestStoreAway(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{})
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	st.fail(errors.New("away"))
	if _, err := s.ChangeNamespace(t.Context(), "n", NamespaceSpec{Layout: "twitter"}); KindOf(err) != Unavailable {
		t.Errorf("change: %s: %v", KindOf(err).Name(), err)
	}
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Errorf("IDs end with the store: %v", err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("the store answers")
	}
}

// Close while a generator is being opened: nothing is held afterwards, whether Close
// could wait for it or not.
func TestCloseWhileOpening(t *testing.T) {
	for name, patient := range map[string]bool{"waits": true, "does not wait": false} {
		t.Run(name, func(t *testing.T) {
			st := newStore(t, "n")
			s := New(st, Options{})
			release := st.hold()
			defer release()
			done := make(chan error, 1)
			go func() {
				_, err := s.one(context.Background(), "n")
				done <- err
			}()
			<-st.met
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			closed := make(chan error, 1)
			go func() { closed <- s.Close(ctx) }()
			if patient {
				until(t, "closing", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.ended })
				release()
				if err := <-closed; err != nil {
					t.Errorf("close: %v", err)
				}
			} else {
				cancel()
				if err := <-closed; err == nil {
					t.Error("Close did not say that it gave up")
				}
				release()
			}
			if err := <-done; err != nil && KindOf(err) != Unavailable {
				t.Errorf("the request: %v", err)
			}
			until(t, "given back", func() bool { return held(t, st, "n") == 0 })
			if _, err := s.one(t.Context(), "n"); KindOf(err) != Unavailable {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// Many first requests at once open one lease.
func TestOpenedOnce(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{Block: 1})
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	for range 64 {
		all.Go(func() {
			id, err := s.one(t.Context(), "n")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[id] {
				t.Errorf("%d, %v", id, err)
			}
			seen[id] = true
		})
	}
	all.Wait()
	if n := held(t, st, "n"); n != 1 {
		t.Errorf("%d nodes are held", n)
	}
}

// A namespace that another server changes, or deletes and makes anew, is read again here:
// by those who make IDs as soon as their lease ends, by those who decode within seconds.
func TestChangedElsewhere(t *testing.T) {
	st := newStore(t, "n", "m")
	a, b := newService(t, st, Options{TTL: 60 * time.Millisecond}), newService(t, st, Options{})
	var past atomic.Int64
	a.now = func() time.Time { return time.Now().Add(time.Duration(past.Load())) }
	if _, err := a.one(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Space(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	const wide = "time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"
	for _, name := range []string{"n", "m"} {
		if _, err := b.ChangeNamespace(t.Context(), name, NamespaceSpec{Layout: wide}); err != nil {
			t.Fatal(err)
		}
	}
	past.Store(int64(schemeTTL))
	for _, name := range []string{"n", "m"} {
		until(t, name+" is read again", func() bool {
			sp, err := a.Space(t.Context(), name)
			return err == nil && sp.Scheme().Layout().Bits(snowfence.FieldTime) == 42
		})
		until(t, name+" makes IDs", func() bool { _, err := a.one(t.Context(), name); return err == nil })
	}
	past.Add(int64(schemeTTL))
	if err := b.DeleteNamespace(t.Context(), "m", "m"); KindOf(err) != Refused {
		t.Errorf("deleted while another server makes IDs: %v", err)
	}
}

// Deleting and creating under load: each ID is new, and the server comes back every time.
func TestDeletedAndCreatedUnderLoad(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{TTL: 30 * time.Millisecond, Block: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				id, err := s.one(ctx, "n")
				switch {
				case err == nil:
					mu.Lock()
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				case ctx.Err() == nil && KindOf(err) != Unavailable && KindOf(err) != NoNamespace:
					t.Errorf("%s: %v", KindOf(err).Name(), err)
				}
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
	for range 5 {
		before := count()
		until(t, "IDs are made", func() bool { return count() > before })
		until(t, "deleted", func() bool { return s.DeleteNamespace(ctx, "n", "n") == nil })
		until(t, "created", func() bool {
			_, _, err := s.CreateNamespace(ctx, "n",
				NamespaceSpec{Layout: "twitter"})
			return err == nil
		})
	}
	before := count()
	until(t, "IDs are made again", func() bool { return count() > before })
	cancel()
	all.Wait()
}

// Namespaces that were only looked at make room for others; those that make IDs do not.
func TestRoomForNamespaces(t *testing.T) {
	st := newStore(t)
	for i := range 6 {
		create(t, st, "n"+strconv.Itoa(i), "twitter")
	}
	s := newService(t, st, Options{Spaces: 2})
	for i := range 6 {
		if _, err := s.Space(t.Context(), "n"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if _, err := s.one(t.Context(), "n"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Space(t.Context(), "n2"); KindOf(err) != TooMuch {
		t.Errorf("a third namespace: %v", err)
	}
	if n := len(s.Spaces()); n != 2 {
		t.Errorf("%d are open", n)
	}
}

// A namespace is deleted only when nobody but this server holds nodes, and labels decide nothing.
func TestDeleteInUse(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{Label: "same"})
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	granted, _, err := s.Acquire(t.Context(), Open().Anyone(), "n", lease.Options{Label: "same"})
	ticket := granted.Ticket
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteNamespace(t.Context(), "n", "n"); KindOf(err) != Refused {
		t.Errorf("deleted while somebody of the same label holds a node: %v", err)
	}
	if err := s.Release(t.Context(), ticket, ticket.From); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteNamespace(t.Context(), "n", "n"); err != nil {
		t.Error(err)
	}
}

// Renewals that arrive together share round trips to the store: those that come while one
// is under way go into the next one.
func TestRenewalsShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t, "n")
		s := newService(t, st, Options{})
		const holders = 200
		tickets := make([]lease.Ticket, holders)
		for i := range tickets {
			g, _, err := s.Acquire(t.Context(), Open().Anyone(), "n", lease.Options{Label: strconv.Itoa(i)})
			if err != nil {
				t.Fatal(err)
			}
			tickets[i] = g.Ticket
		}
		swaps := st.swaps.Load()
		release := st.hold()
		var all sync.WaitGroup
		for i := range tickets {
			all.Go(func() {
				attempt := "attempt-" + fmt.Sprintf("%016d", i)
				if _, _, err := s.Renew(t.Context(), Open().Anyone(), tickets[i], attempt); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // the first ones wait for the store, and all others for them
		release()
		all.Wait()
		if n := st.swaps.Load() - swaps; n != 2 {
			t.Errorf("%d renewals took %d swaps, not 2", holders, n)
		}
	})
}
