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
	"github.com/snowfence/snowfence/lease/store"
)

// announce makes servers known until stop, which waits until they have gone.
func announce(ctx context.Context, st store.Store, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range n {
		s := New(st, Options{Label: fmt.Sprintf("s%02d", i)})
		all.Go(func() { s.Announce(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// records returns how many records of servers a store keeps.
func records(t *testing.T, st store.Store) int {
	t.Helper()
	rs, err := st.List(t.Context(), store.Servers, snowfence.NodeRange{Until: 1 << 40}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return len(rs)
}

func known(t *testing.T, st store.Store) int {
	t.Helper()
	l, err := ListServers(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

// Servers that start at the same time want the same place, and each gets its own. Those that come
// later take the places of those that have gone.
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

func (d *deafStore) Swap(ctx context.Context, writes []store.Write) []error {
	errs := d.Store.Swap(ctx, writes)
	for i := range errs {
		if d.deaf.Load() {
			errs[i] = errDeaf
		}
	}
	return errs
}

// A server that does not know whether its record was written finds it again, and is listed once.
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

// A server whose record another one had taken made itself a new one when it stopped, and emptied
// that.
func TestStopLeavesNoNewRecord(t *testing.T) {
	st := store.NewMemory()
	a := &announcer{service: New(st, Options{Label: "a"})}
	a.look(t.Context())
	taken := a.record
	taken.Nonce, taken.Data = "another", strings.Replace(taken.Data, a.service.id, "another", 1)
	if err := st.Swap(t.Context(), []store.Write{{Old: a.record.Nonce, New: taken}})[0]; err != nil {
		t.Fatal(err)
	}
	a.leave(t.Context())
	if n, kept := known(t, st), records(t, st); n != 1 || kept != 1 {
		t.Errorf("%d servers in %d records", n, kept)
	}
}

// timeless is a store without a clock.
type timeless struct{ store.Store }

func (timeless) Now(context.Context) (time.Time, error) { return time.Time{}, errors.New("NOPERM") }

// A role of Redis that may only read may not ask for the time, and could not list the servers.
func TestServersAreListedWithoutTheTimeOfTheStore(t *testing.T) {
	st := store.NewMemory()
	a := &announcer{service: New(st, Options{Label: "a"})}
	a.look(t.Context())
	if n := known(t, timeless{st}); n != 1 {
		t.Errorf("%d servers", n)
	}
}
