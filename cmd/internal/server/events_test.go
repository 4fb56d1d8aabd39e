package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Trouble of leases is an event for people, who do not hear what a driver says of its store.
func TestTroubleOfLeasesIsAnEvent(t *testing.T) {
	s := New(store.NewMemory(), Options{})
	driver := &storeError{errors.New("dial tcp"), storeFailed, "dial tcp"}
	for kind, want := range map[string]Event{
		lease.EventLost: {Kind: "lost", Text: "lease lost: the store failed, and the server's log says how"},
		lease.EventLate: {
			Kind: "late",
			Text: "lease not renewed: the store failed, and the server's log says how",
		},
		lease.EventRolledBack:  {Kind: "store", Text: string(lease.EventRolledBack)},
		lease.EventReplaced:    {Kind: "store", Text: string(lease.EventReplaced)},
		lease.EventFloorRaised: {Kind: "store", Text: string(lease.EventFloorRaised)},
	} {
		e := lease.Event{Kind: kind, Namespace: "orders"}
		if want.Kind != "store" {
			e.Cause = driver
		}
		s.onLeaseEvent(e)
		list, _, stop := s.Events.Watch()
		stop()
		got := list[len(list)-1]
		if want.At, want.Namespace = got.At, "orders"; got != want {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}

// The server's own lease, and the leases of tickets, tell the events what happened in the store.
func TestEventsHearOfLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26 * 365 * 24 * time.Hour) // until the layout has begun
		st := &another{slowStore: newStore(t, "n")}
		s := newService(t, st, Options{})
		hear := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			list, _, stop := s.Events.Watch()
			defer stop()
			n := 0
			for _, e := range list {
				if e.Kind == "store" && e.Namespace == "n" {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: %+v", what, list)
			}
		}
		st.id = "another"
		o := wire.Request{Label: "holder", TTL: time.Minute}
		if _, _, err := s.Acquire(t.Context(), Open().Anyone(), "n", o); err != nil {
			t.Fatal(err)
		}
		hear("a ticket", 2)
		st.id = "a third"
		sp, err := s.Space(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sp.Generator(t.Context()); !errors.Is(err, snowfence.ErrFenced) {
			t.Errorf("the floor was raised, and there is a generator: %v", err)
		}
		hear("the server's own", 4)
	})
}

// another is a store that may become another one.
type another struct {
	*slowStore
	id string
}

func (a *another) Identity(context.Context, string) (string, error) { return a.id, nil }
