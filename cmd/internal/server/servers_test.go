package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// announce makes servers known until stop, which waits until they have
// gone.
func announce(ctx context.Context, st store.Store, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range n {
		s := New(st, Options{Label: fmt.Sprintf("s%02d", i)})
		all.Go(func() { s.Servers.Announce(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// records returns how many records of servers a store keeps.
func records(t *testing.T, st store.Store) int {
	t.Helper()
	rs := got(st.List(t.Context(), store.Servers, snowfence.NodeRange{Until: 1 << 40}, 1<<20))
	return len(rs)
}

func known(t *testing.T, st store.Store) int {
	t.Helper()
	l := must(ListServers(t.Context(), st))
	return len(l)
}

// Servers that start at the same time want the same place, and each gets
// its own. Those that come later take the places of those that have gone.
func TestServersThatStartTogetherAreAllListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		stop := announce(t.Context(), st, 30)
		time.Sleep(2 * time.Minute)
		if n, kept := known(t, st), records(t, st); n != 30 || kept != 30 {
			t.Errorf("%d of 30 servers in %d records", n, kept)
		}
		stop()
		if n := known(t, st); n != 0 {
			t.Errorf("%d servers that have stopped", n)
		}
		stop = announce(t.Context(), st, 25)
		defer stop()
		time.Sleep(2 * time.Minute)
		if n, kept := known(t, st), records(t, st); n != 25 || kept != 30 {
			t.Errorf("%d of 25 servers in %d records", n, kept)
		}
	})
}

// deafStore does what it is asked to, and its answers are lost.
type deafStore struct {
	store.Store
	deaf atomic.Bool
}

var errDeaf = errors.New("the answer was lost")

func (d *deafStore) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, reply store.Reply) {
	errs, _, reply := d.Store.Swap(ctx, writes)
	for i := range errs {
		if d.deaf.Load() {
			errs[i] = errDeaf
		}
	}
	return errs, nil, reply
}

// A server that does not know whether its record was written finds it
// again, and is listed once.
func TestServersFindTheirRecordsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &deafStore{Store: store.NewMemory()}
		st.deaf.Store(true)
		stop := announce(t.Context(), st, 1)
		time.Sleep(time.Minute)
		if n, kept := known(t, st), records(t, st); n != 1 || kept != 1 {
			t.Errorf("%d servers in %d records", n, kept)
		}
		st.deaf.Store(false)
		time.Sleep(time.Minute)
		if n, kept := known(t, st), records(t, st); n != 1 || kept != 1 {
			t.Errorf("afterwards %d servers in %d records", n, kept)
		}
		stop()
		if n := known(t, st); n != 0 {
			t.Errorf("%d servers that have stopped", n)
		}
	})
}

// A server whose record another one had taken made itself a new one when it
// stopped, and emptied that.
func TestStopLeavesNoNewRecord(t *testing.T) {
	st := store.NewMemory()
	a := &announcer{servers: New(st, Options{Label: "a"}).Servers}
	a.writeIfDue(t.Context())
	taken := a.record
	taken.Nonce, taken.Data = "another", strings.Replace(taken.Data, a.servers.core.id, "another", 1)
	must(store.Put(t.Context(), st, store.Write{Old: a.record.Nonce, New: taken}))
	a.emptyRecord(t.Context())
	if n, kept := known(t, st), records(t, st); n != 1 || kept != 1 {
		t.Errorf("%d servers in %d records", n, kept)
	}
}

// A server that did not answer is asked again after a second, if it is
// still there.
func TestPeersThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		s, other := New(st, Options{}), &announcer{servers: New(st, Options{URL: "http://other"}).Servers}
		peer := func(when, want string) {
			t.Helper()
			address, err := s.Servers.Peer(t.Context(), other.servers.core.ID())
			if address != want || want == "" && !errors.Is(err, lease.ErrElsewhere) {
				t.Errorf("%s: %q, %v", when, address, err)
			}
		}
		other.writeIfDue(t.Context())
		peer("listed", "http://other")
		s.Servers.gate <- struct{}{}
		peer("known, while the list is read", "http://other")
		<-s.Servers.gate
		time.Sleep(time.Minute - time.Second)
		s.Servers.PeerAway(other.servers.core.ID())
		peer("it did not answer", "")
		time.Sleep(peersFor)
		peer("it is listed no more", "")
		other.writeIfDue(t.Context())
		peer("within a second", "")
		time.Sleep(peersFor)
		peer("a second later", "http://other")
	})
}

// The list did not say that a server had no lease, and that one was not
// seen for a while.
func TestServersThatAreNotWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ready, gone = 30 * time.Second, time.Minute
		st := store.NewMemory()
		create(t, st, "orders", "time=41,node=10,seq=12,epoch=1999-01-01")
		s := New(st, Options{Label: "a", TTL: 5 * time.Second})
		s.SetReady(func() error { return nil })
		sp, err := s.Spaces.Find(t.Context(), "orders")
		if err == nil {
			_, err = sp.Next(t.Context())
		}
		noError(t, err)
		a := &announcer{servers: s.Servers}
		look := func() *pb.ServerInfo {
			t.Helper()
			l, err := ListServers(t.Context(), st)
			if err != nil || len(l) != 1 {
				t.Fatalf("%v, %v", l, err)
			}
			return l[0]
		}
		a.writeIfDue(t.Context())
		if one := look(); !one.Ready || len(one.Failing) > 0 || one.Nodes[0].Until == nil {
			t.Errorf("well: %v", one)
		}
		for node := range int64(1024) {
			must(scope.Namespaces(st).Veto(t.Context(), "orders", node, "test"))
		}
		time.Sleep(6 * time.Second)
		s.SetReady(func() error { return errDeaf })
		a.writeIfDue(t.Context())
		if one := look(); one.Ready || len(one.Failing) != 1 {
			t.Errorf("without nodes: %v", one)
		}
		s.SetReady(func() error { return nil })
		a.writeIfDue(t.Context())
		time.Sleep(ready - time.Second)
		if !look().Ready {
			t.Error("late")
		}
		time.Sleep(2 * time.Second)
		if look().Ready {
			t.Error("not seen for half a minute, and ready")
		}
		time.Sleep(gone - ready)
		if l, err := ListServers(t.Context(), st); err != nil || len(l) > 0 {
			t.Errorf("%v, %v", l, err)
		}
		noError(t, s.Close(t.Context()))
	})
}
