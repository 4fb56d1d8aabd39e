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
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// A store that is unreachable is no refusal: the change may be asked for
// again.
func TestStoreAway(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{})
	must(s.one(t.Context(), "n"))
	st.fail(errors.New("away"))
	if _, err := s.Management.ChangeNamespace(t.Context(), &pb.ChangeNamespaceRequest{
		Name: "n", Layout: "twitter",
	}); KindOf(err) != Unavailable {
		t.Errorf("change: %s: %v", KindOf(err).Name(), err)
	}
	wantErr(t, errOf(s.one(t.Context(), "n")), nil, "IDs end with the store")
	fails(t, s.Ping(t.Context()), "the store answers")
}

// Close while a generator is being opened: nothing is held afterwards,
// whether Close could wait for it or not.
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
				until(t, "closing", func() bool {
					s.Spaces.mu.Lock()
					defer s.Spaces.mu.Unlock()
					return s.Spaces.ended
				})
				release()
				wantErr(t, <-closed, nil, "close")
			} else {
				cancel()
				fails(t, <-closed, "Close did not say that it gave up")
				release()
			}
			if err := <-done; err != nil && KindOf(err) != Unavailable {
				t.Errorf("the request: %v", err)
			}
			until(t, "given back", func() bool { return held(t, st, "n") == 0 })
			wantKind(t, errOf(s.one(t.Context(), "n")), Unavailable)
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
	sp := must(s.Spaces.Find(t.Context(), "n"))
	sp.Own.openTurn <- struct{}{}
	if _, ok := sp.Own.Status(); !ok {
		t.Error("while another one has its turn, no lease is seen")
	}
	<-sp.Own.openTurn
}

// A namespace that another server changes, or deletes and makes anew, is
// read again here: by those who make IDs as soon as their lease ends, by
// those who decode within seconds.
func TestChangedElsewhere(t *testing.T) {
	st := newStore(t, "n", "m")
	a, b := newService(t, st, Options{TTL: 60 * time.Millisecond}), newService(t, st, Options{})
	var past atomic.Int64
	a.now = func() time.Time { return time.Now().Add(time.Duration(past.Load())) }
	must(a.one(t.Context(), "n"))
	must(a.Spaces.Find(t.Context(), "m"))
	const wide = "time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"
	for _, name := range []string{"n", "m"} {
		change := &pb.ChangeNamespaceRequest{Name: name, Layout: wide}
		must(b.Management.ChangeNamespace(t.Context(), change))
	}
	past.Store(int64(schemeTTL))
	for _, name := range []string{"n", "m"} {
		until(t, name+" is read again", func() bool {
			sp, err := a.Spaces.Find(t.Context(), name)
			return err == nil && sp.Scheme().Layout().Bits(snowfence.FieldTime) == 42
		})
		until(t, name+" makes IDs", func() bool { _, err := a.one(t.Context(), name); return err == nil })
	}
	past.Add(int64(schemeTTL))
	if _, err := b.Management.DeleteNamespace(t.Context(), &pb.DeleteNamespaceRequest{
		Name: "m", Confirm: "m",
	}); KindOf(err) != Refused {
		t.Errorf("deleted while another server makes IDs: %v", err)
	}
}

// After an hour without a request for an ID, a server decoded by the layout
// before.
func TestChangedWhileTheLeaseIdles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 365 * 24 * time.Hour)
		st := newStore(t, "n")
		a, b := newService(t, st, Options{}), newService(t, st, Options{})
		must(a.one(t.Context(), "n"))
		time.Sleep(3 * time.Hour)
		const wide = "time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"
		must(b.Management.ChangeNamespace(t.Context(), &pb.ChangeNamespaceRequest{Name: "n", Layout: wide}))
		_, _ = a.Spaces.Find(t.Context(), "n")
		sp := must(a.Spaces.Find(t.Context(), "n"))
		if got := sp.Scheme().Layout().Bits(snowfence.FieldTime); got != 42 {
			t.Errorf("IDs are decoded with %d bits of time", got)
		}
	})
}

// Renewals that arrive together share round trips to the store: those that
// come while one is under way go into the next one.
func TestRenewalsShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t, "n")
		s := newService(t, st, Options{})
		const holders = 200
		tickets := make([]wire.Lease, holders)
		for i := range tickets {
			g, _, err := s.Leases.Acquire(t.Context(), Open().Anyone(), "n", wire.Request{Label: strconv.Itoa(i)})
			noError(t, err)
			tickets[i] = g.Lease
		}
		swaps := st.swaps.Load()
		release := st.hold()
		var all sync.WaitGroup
		for i := range tickets {
			all.Go(func() {
				attempt := "attempt-" + fmt.Sprintf("%016d", i)
				if _, _, err := s.Leases.Renew(t.Context(), Open().Anyone(), tickets[i], attempt); err != nil {
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
