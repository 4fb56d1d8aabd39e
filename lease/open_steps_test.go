package lease

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/wire"
)

// Wrong arguments are told before a server is asked.
func TestKeepArguments(t *testing.T) {
	k := struct{ wire.Server }{} // a call is a panic
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	for name, keep := range map[string]func() ([]*Lease, error){
		"no server": func() ([]*Lease, error) { return Keep(t.Context(), nil, "n", s, 1, nil) },
		"no scheme": func() ([]*Lease, error) { return Keep(t.Context(), k, "n", nil, 1, nil) },
		"no name":   func() ([]*Lease, error) { return Keep(t.Context(), k, "", s, 1, nil) },
		"no ttl":    func() ([]*Lease, error) { return Keep(t.Context(), k, "n", s, 1, &Options{TTL: -1}) },
	} {
		if l, err := keep(); err == nil || l != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := Keep(t.Context(), k, "n", s, 0, nil); err != nil || len(all) != 0 {
		t.Errorf("no lease: %v, %v", all, err)
	}
	if all, err := Keep(t.Context(), k, "n", s, -1, nil); !errors.Is(err, ErrInvalid) || len(all) != 0 {
		t.Errorf("-1 leases: %v, %v", all, err)
	}
	all, err := Keep(t.Context(), k, "n", s, 2, &Options{Node: new(int64(1))})
	if !errors.Is(err, ErrInvalid) || len(all) != 0 {
		t.Errorf("two leases of node 1: %v, %v", all, err)
	}
}

// Who finds no node learns which programs hold them, most nodes first, and
// how many are vetoed.
func TestNobodyIsFree(t *testing.T) {
	g := empty(t, "time=41,node=3,seq=12,epoch=2025-01-01")
	for i, label := range []string{"many", "many", "b", "c", "d", "e", "f"} {
		node := int64(i)
		l, err := Open(t.Context(), g.st, "n", g.l.setup.Scheme, &Options{Node: &node, Label: label})
		g.must(err)
		t.Cleanup(l.Orphan)
	}
	must(scope.Namespaces(g.st).Veto(t.Context(), "n", 7, "a broken rack"))
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Nodes: 2}, []string{"no 2 contiguous ones of the 8 nodes", "7 are held by many (2), b (1), c (1), d (1), e (1) and others, 1 are vetoed;"}},
		{Options{}, []string{"all 8 nodes", "7 are held", ", 1 are vetoed", "a layout with more node bits"}},
		{Options{Within: snowfence.NodeRange{Until: 3}}, []string{"all 3 nodes from 0 to 2", "3 are held by many (2), b (1);", "or widen Options.Within"}},
	} {
		_, err := Open(t.Context(), g.st, "n", g.l.setup.Scheme, &c.o)
		var taken *TakenError
		if !errors.As(err, &taken) || !errors.Is(err, ErrTaken) {
			t.Fatalf("%v", err)
		}
		for _, text := range c.want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is not in: %v", text, err)
			}
		}
	}
}

// The errors about limits name the change that allows the lease.
func TestLimitsAreRaisedAsAdvised(t *testing.T) {
	for what, o := range map[string]Options{
		"--max-ttl 1m0s": {TTL: time.Minute}, "--max-skew 1m0s": {MaxSkew: time.Minute},
	} {
		g := empty(t, withRollback)
		op := scope.Namespaces(g.st)
		_, err := Open(t.Context(), g.st, "n", g.l.setup.Scheme, &o)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "(snowfence namespace change n "+what+")") {
			t.Errorf("%s: %v", what, err)
		}
		more := &scope.NamespaceOptions{MaxTTL: o.TTL, MaxSkew: o.MaxSkew}
		must(op.Change(t.Context(), "n", nil, more))
		l, err := Open(t.Context(), g.st, "n", g.l.setup.Scheme, &o)
		if err != nil {
			t.Fatalf("%s: as advised: %v", what, err)
		}
		l.Orphan()
	}
}

// What a server cannot read it calls damaged, and asks the store nothing
// with it.
func TestDamagedTickets(t *testing.T) {
	w := newTicketWorld(t)
	v := Serve(w.st, w.scheme, w.options())
	_, lost := v.Acquire(t.Context(), "n", wire.Request{Attempt: rand.Text(), Lost: wire.Ticket("{")})
	for name, err := range map[string]error{"released": v.Release(t.Context(), wire.Ticket("{"), 0), "lost": lost} {
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "the ticket is damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server without a scheme is an error of each call, and no panic.
func TestServerWithoutAScheme(t *testing.T) {
	w := newTicketWorld(t)
	fails(t, errOf(Serve(w.st, nil, nil).Acquire(t.Context(), "n", wire.Request{Attempt: rand.Text()})), "it leased")
}

// Calls begin until one returns an error. It is returned when all have
// ended.
func TestEachUntilAnError(t *testing.T) {
	const n = closers + 10
	for name, c := range map[string]struct {
		fails error
		want  int
	}{"without an error": {nil, n}, "with an error": {errSilent, closers}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			begun, ended := 0, 0
			wait := make(chan struct{})
			time.AfterFunc(time.Second, func() { close(wait) })
			err := each(n, closers, func(i int) error {
				mu.Lock()
				begun++
				mu.Unlock()
				if i == 7 { // while all others wait
					time.Sleep(time.Millisecond)
					return c.fails
				}
				<-wait
				mu.Lock()
				ended++
				mu.Unlock()
				return nil
			})
			if !errors.Is(err, c.fails) || begun != c.want || ended != begun-1 {
				t.Errorf("%s: %d calls, %d have ended, %v", name, begun, ended, err)
			}
		})
	}
}
