package server

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// putBack writes a record by other means; one without a nonce is gone.
func putBack(t *testing.T, st store.Store, r store.Record) {
	t.Helper()
	rs, _, err := st.Get(t.Context(), []store.Key{r.Key})
	if err == nil {
		_, err = store.Put(t.Context(), st, store.Write{Old: rs[0].Nonce, New: r})
	}
	noError(t, err)
}

// A server whose record is gone, or older than the one that was
// acknowledged, gives the store another identity at its next heartbeat,
// once. That another server took the record says nothing, and an error in
// between does not let it forget.
func TestRecordIsAWitness(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(first, last store.Record) store.Record
		want bool
	}{
		"gone":        {func(_, last store.Record) store.Record { return store.Record{Key: last.Key} }, true},
		"older":       {func(first, _ store.Record) store.Record { return first }, true},
		"replaced":    {func(_, last store.Record) store.Record { last.Nonce = "other"; return last }, true},
		"as it was":   {func(_, last store.Record) store.Record { return last }, false},
		"another's":   {func(_, last store.Record) store.Record { last.Nonce, last.Revision = "other", 9; return last }, false},
		"another's 2": {func(_, last store.Record) store.Record { last.Nonce, last.Revision = "other", 3; return last }, false},
	} {
		for _, failed := range []bool{false, true} {
			st := &slowStore{Store: store.NewMemory()}
			s := New(st, Options{Label: "a"})
			a := &announcer{servers: s.Servers}
			beat := func() {
				a.next = time.Time{}
				a.record.Data = "" // as if it held other nodes
				a.writeIfDue(t.Context())
			}
			beat()
			first := s.lastWrite.Load().record
			beat()
			last := s.lastWrite.Load().record
			if failed {
				st.fail(errors.New("away"))
				beat()
				st.fail(nil)
			}
			before, _ := store.Identity(t.Context(), st, "")
			putBack(t, st.Store, c.harm(first, last))
			beat()
			after, _ := store.Identity(t.Context(), st, "")
			if (after != before) != c.want {
				t.Errorf("%s, failed before: %t: the store was %q and is %q", name, failed, before, after)
			}
			for range 3 {
				beat()
			}
			if id, _ := store.Identity(t.Context(), st, ""); id != after || s.lastWrite.Load() == nil {
				t.Errorf("%s: afterwards it was %q and is %q", name, after, id)
			}
		}
	}
}

// A store lost a server's record between a look at it and the next write,
// which made the record again.
func TestRecordMadeAgain(t *testing.T) {
	st := &script{Store: store.NewMemory()}
	s := New(st, Options{Label: "a"})
	a := &announcer{servers: s.Servers}
	a.writeIfDue(t.Context())
	last := s.lastWrite.Load()
	st.begin = func([]store.Write) {
		st.begin = nil
		putBack(t, st.Store, store.Record{Key: last.record.Key})
	}
	a.next = time.Time{}
	a.writeIfDue(t.Context())
	if id, _ := store.Identity(t.Context(), st, ""); id == last.identity {
		t.Errorf("the store is still %q", id)
	}
}

// A server whose store was rolled back since its last heartbeat looks
// before it hands out a node: what it grants begins above what the store
// has forgotten.
func TestServerLooksBeforeItGrants(t *testing.T) {
	st := store.NewMemory()
	l := must(snowfence.ParseLayout("snowfence"))
	scheme := must(snowfence.NewScheme(l))
	must(scope.Namespaces(st).Create(t.Context(), "n", scheme, nil))
	s := New(st, Options{Label: "a"})
	a := &announcer{servers: s.Servers}
	a.writeIfDue(t.Context())
	node := int64(3)
	acquire := func() snowfence.Grant {
		t.Helper()
		g, _, err := s.Leases.Acquire(t.Context(), Open().Anyone(), "n", wire.Request{Label: "b", Node: &node})
		noError(t, err)
		return g.Grant
	}
	acquire()
	var backup []store.Record
	for _, n := range []string{"n", store.Servers} {
		rs := got(st.List(t.Context(), n, snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}, 100))
		backup = append(backup, rs...)
	}
	a.next = time.Time{}
	a.writeIfDue(t.Context()) // a heartbeat after the backup
	lost := acquire()
	for _, r := range backup {
		putBack(t, st, r)
	}
	if g := acquire(); g.From < lost.Until {
		t.Errorf("%+v is granted after %+v", g, lost)
	}
}
