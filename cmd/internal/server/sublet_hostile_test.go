package server

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/wire"
)

// A hostile holder of a sublease decides about its own ticks only. It plays
// tickets that are forged, replayed, of another server, of an earlier life
// and released, and lies about its use.
func TestHostileSubleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, id := inUnits(t), limited(t, 0, VerbLease)
		s, other := newService(t, st, Options{}), newService(t, st, Options{})
		acquire := func(label string, within snowfence.NodeRange) wire.Lease {
			t.Helper()
			r := wire.Request{Label: label, Attempt: rand.Text(), TTL: 10 * time.Second, Within: within}
			g, _, err := s.Leases.Acquire(t.Context(), id, "n", r)
			noError(t, err)
			return g.Lease
		}
		// send renews and releases with a ticket, and returns what it is
		// told.
		send := func(s *Service, b wire.Ticket, used int64) (renewed, released Kind) {
			l, err := ReadTicket(b)
			if err != nil {
				return KindOf(err), KindOf(err)
			}
			next, _, err := s.Leases.Renew(t.Context(), id, l, rand.Text())
			if err == nil {
				t.Fatalf("%+v was renewed to %+v", l, next)
			}
			if gone := s.Leases.Release(t.Context(), l, used); gone != nil {
				return KindOf(err), KindOf(gone)
			}
			return KindOf(err), -1
		}
		first := acquire("first", snowfence.NodeRange{})
		same := snowfence.NodeRange{From: first.Grant.Node, Until: first.Grant.Node + 1}
		time.Sleep(10 * time.Second) // it used all of it, and crashed
		hostile := acquire("hostile", same)
		if hostile.Grant.From < first.Grant.Until {
			t.Fatalf("%+v after %+v", hostile.Grant, first.Grant)
		}
		beside := acquire("beside", snowfence.NodeRange{})
		replayed := hostile
		hostile, _, err := s.Leases.Renew(t.Context(), id, replayed, rand.Text())
		noError(t, err)

		for i := range hostile.Ticket {
			forged := slices.Clone(hostile.Ticket)
			forged[i] ^= 1
			if renewed, _ := send(s, forged, 0); renewed != Lost && renewed != Invalid && renewed != Elsewhere &&
				renewed != NoNamespace {
				t.Errorf("another byte %d: %v", i, renewed.Name())
			}
		}
		body := len(beside.Ticket) - sha256.Size
		forged := append(slices.Clone(beside.Ticket[:body]), hostile.Ticket[len(hostile.Ticket)-sha256.Size:]...)
		if renewed, released := send(s, forged, 0); renewed != Lost || released != Lost {
			t.Errorf("the node of another holder: %v, %v", renewed, released)
		}
		for name, l := range map[string]wire.Lease{"replayed": replayed, "of the holder before": first} {
			if renewed, released := send(s, l.Ticket, 0); renewed != Lost || released != -1 {
				t.Errorf("%s: %v, %v", name, renewed, released)
			}
		}
		if renewed, released := send(other, hostile.Ticket, 0); renewed != Elsewhere || released != Elsewhere {
			t.Errorf("at another server: %v, %v", renewed, released)
		}
		for _, l := range []*wire.Lease{&beside, &hostile} { // nothing of that had an effect
			next, _, err := s.Leases.Renew(t.Context(), id, *l, rand.Text())
			if err != nil || next.Grant != l.Grant {
				t.Errorf("%+v, then %+v, %v", l.Grant, next.Grant, err)
			}
			*l = next
		}

		if err := s.Leases.Release(t.Context(), hostile, 0); err != nil { // it says that it used nothing, ever
			t.Fatal(err)
		}
		last := acquire("last", same)
		if last.Grant.From != first.Grant.Until {
			t.Errorf("%+v after %+v", last.Grant, first.Grant)
		}
		if renewed, released := send(s, hostile.Ticket, 0); renewed != Lost || released != -1 {
			t.Errorf("after its release: %v, %v", renewed, released)
		}
		if last, _, err = s.Leases.Renew(t.Context(), id, last, rand.Text()); err != nil {
			t.Errorf("its successor: %v", err)
		}
		if err := s.Leases.Release(t.Context(), last, last.Grant.Until+1000); err != nil { // more than it had
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if next := acquire("next", same); next.Grant.From != last.Grant.Until {
			t.Errorf("%+v after %+v", next.Grant, last.Grant)
		}

		noError(t, s.Close(t.Context()))
		again := newService(t, st, Options{}) // another life
		if renewed, released := send(again, beside.Ticket, 0); renewed != Elsewhere || released != Elsewhere {
			t.Errorf("of an earlier life: %v, %v", renewed, released)
		}
	})
}
