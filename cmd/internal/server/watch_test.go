package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// countedLists is a store that counts how often its leases are listed.
type countedLists struct {
	*slowStore
	lists atomic.Int64
}

func (c *countedLists) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	c.lists.Add(1)
	if c.slowStore.away != nil {
		return nil, store.Reply{}, c.slowStore.away
	}
	return c.slowStore.List(ctx, namespace, nodes, limit)
}

// watchN asks for the leases of the namespace n.
var watchN = &pb.WatchLeasesRequest{Namespace: "n"}

// However many watch a namespace, the store is read once for all; each
// hears of all leases once and of each change once, a late comer too, and a
// slow one of what it missed together.
func TestWatchersShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &countedLists{slowStore: newStore(t, "n")}
		s := newService(t, st, Options{})
		acquire := func(n int) {
			for i := range n {
				if _, _, err := s.Leases.Acquire(t.Context(), Open().Anyone(), "n", wire.Request{
					Label: fmt.Sprint(i), TTL: 10 * time.Minute,
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		acquire(3)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var heard [51]atomic.Int64 // leases
		watch := func(i int, slow time.Duration) {
			all.Go(func() {
				err := s.Views.Watch(anyone(ctx), watchN, func(m *pb.ListLeasesResponse) error {
					heard[i].Add(int64(len(m.Leases)))
					time.Sleep(slow)
					return nil
				})
				wantErr(t, err, context.Canceled, "watcher %d", i)
			})
		}
		wants := func(what string, from, to int, want int64) {
			t.Helper()
			synctest.Wait()
			for i := from; i < to; i++ {
				if n := heard[i].Load(); n != want {
					t.Errorf("%s: watcher %d heard of %d leases, not %d", what, i, n, want)
				}
			}
		}
		for i := range 49 {
			watch(i, 0)
		}
		watch(49, 5*watchEvery)
		wants("at once", 0, 50, 3)
		time.Sleep(watchEvery + time.Second)
		acquire(2)
		time.Sleep(watchEvery)
		wants("after a change", 0, 49, 5)
		watch(50, 0)
		wants("a late comer", 50, 51, 5)
		wants("a slow one, not yet", 49, 50, 3)
		acquire(1)
		synctest.Wait()
		before := st.lists.Load()
		time.Sleep(10 * watchEvery)
		wants("later", 0, 51, 6)
		if n := st.lists.Load() - before; n < 9 || n > 10 {
			t.Errorf("the leases were listed %d times in %v for 51 watchers", n, 10*watchEvery)
		}
		cancel()
		all.Wait()
		time.Sleep(linger + watchEvery)
		synctest.Wait()
		before = st.lists.Load()
		time.Sleep(10 * watchEvery)
		if n := st.lists.Load() - before; n != 0 || len(s.Views.all) != 0 {
			t.Errorf("with no page watching: %d reads, %d namespaces", n, len(s.Views.all))
		}
	})
}

// Watchers end with the store, with their own word, and at the limit; those
// who come afterwards begin anew.
func TestWatchersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &countedLists{slowStore: newStore(t, "n")}
		s := newService(t, st, Options{})
		enough := errors.New("enough")
		nothing := func(*pb.ListLeasesResponse) error { return nil }
		ends := func(*pb.ListLeasesResponse) error { return enough }
		ctx := anyone(t.Context())
		away := errors.New("away")
		st.away = away
		wantErr(t, s.Views.Watch(ctx, watchN, nothing), away, "with the store away")
		st.away = nil
		err := s.Views.Watch(ctx, &pb.WatchLeasesRequest{Namespace: "nowhere"}, nothing)
		if KindOf(err) != NoNamespace {
			t.Errorf("nowhere: %v", err)
		}
		full := new(Caller)
		for s.Reserve(full, StreamRoom) == nil {
		}
		wantKind(t, s.Views.Watch(ctx, watchN, ends), TooMuch)
		s.Ended(full)
		wantErr(t, s.Views.Watch(ctx, watchN, ends), enough, "afterwards")
		id := limited(t, 0, VerbRead)
		_, _, err = s.Leases.Acquire(ctx, Open().Anyone(), "n", wire.Request{Label: "x", Nodes: 256})
		noError(t, err)
		time.Sleep(linger + watchEvery)
		pieces := 0
		err = s.Views.Watch(WithCaller(ctx, &Caller{Identity: id}), watchN, func(*pb.ListLeasesResponse) error {
			pieces++
			id.rights.Store(nil)
			return nil
		})
		if KindOf(err) != Anonymous || pieces != 1 {
			t.Errorf("%d pieces for a token that was taken away: %v", pieces, err)
		}
	})
}

// A watcher that takes nothing held all leases as they were when it began,
// each such watcher those of another time.
func TestSlowWatcherKeepsNoOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newStore(t, "n"), Options{})
		begun, ctx := make(chan struct{}), anyone(t.Context())
		go func() {
			_ = s.Views.Watch(ctx, watchN, func(*pb.ListLeasesResponse) error {
				close(begun)
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		<-begun
		n := s.Views.all["n"]
		n.mu.Lock()
		first := weak.Make(n.last)
		n.mu.Unlock()
		time.Sleep(2 * watchEvery)
		synctest.Wait()
		runtime.GC()
		if n.last.Version < 2 || first.Value() != nil {
			t.Errorf("version %d, and the first view is still held", n.last.Version)
		}
	})
}

// Whoever watched namespaces that there are not left a reader of each
// behind.
func TestWatchOfNoNamespaceKeepsNothing(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{})
	for _, name := range []string{"nowhere", strings.Repeat("x", 1<<20)} {
		err := s.Views.Watch(anyone(t.Context()), &pb.WatchLeasesRequest{Namespace: name}, nil)
		if k := KindOf(err); k != NoNamespace && k != Invalid || len(s.Views.all) > 0 {
			t.Errorf("%.20s: %v, and %d readers", name, err, len(s.Views.all))
		}
	}
}
