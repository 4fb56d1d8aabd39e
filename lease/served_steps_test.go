package lease

import (
	"context"
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/wire"
)

// clerk is a server that grants, and counts its calls.
type clerk struct {
	calls int
	grant snowfence.Grant // of each answer
}

func (k *clerk) answer() (wire.Lease, error) {
	k.calls++
	return wire.Lease{Ticket: wire.Ticket("ticket"), Grant: k.grant}, nil
}

func (k *clerk) Acquire(context.Context, string, wire.Request) (wire.Lease, error) { return k.answer() }

func (k *clerk) Renew(context.Context, wire.Ticket, string, []string) (wire.Lease, error) {
	return k.answer()
}

func (k *clerk) Release(context.Context, wire.Ticket, int64) error {
	_, err := k.answer()
	return err
}

// served returns a claim over a clerk; with held, it has ticks 10 to 100 of
// node 5.
func served(t *testing.T, held bool) (*serverClaim, *clerk) {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := (&Options{Label: "me"}).settings(s).normal(s)
	if err != nil {
		t.Fatal(err)
	}
	k := &clerk{grant: snowfence.Grant{Node: 5, From: 10, Until: 100, Nodes: 1}}
	c := &serverClaim{setup: newSetup(world.Real(), "n", s, n, nil), server: k, avoid: map[int64]bool{}}
	if held {
		c.ticket, c.grant = []byte("0"), k.grant
	}
	return c, k
}

// Wrong arguments are told before a server is asked.
func TestKeepArguments(t *testing.T) {
	x, k := served(t, false)
	for name, keep := range map[string]func() ([]*Lease, error){
		"no server": func() ([]*Lease, error) { return Keep(t.Context(), nil, "n", x.scheme, 1, nil) },
		"no scheme": func() ([]*Lease, error) { return Keep(t.Context(), k, "n", nil, 1, nil) },
		"no name":   func() ([]*Lease, error) { return Keep(t.Context(), k, "", x.scheme, 1, nil) },
		"no ttl":    func() ([]*Lease, error) { return Keep(t.Context(), k, "n", x.scheme, 1, &Options{TTL: -1}) },
	} {
		if l, err := keep(); err == nil || l != nil || k.calls != 0 {
			t.Errorf("%s: %v after %d calls", name, err, k.calls)
		}
	}
	if all, err := Keep(t.Context(), k, "n", x.scheme, 0, nil); err != nil || len(all)+k.calls != 0 {
		t.Errorf("no lease: %v, %v after %d calls", all, err, k.calls)
	}
	if all, err := Keep(t.Context(), k, "n", x.scheme, -1, nil); !errors.Is(err, ErrInvalid) || len(all) != 0 {
		t.Errorf("-1 leases: %v, %v", all, err)
	}
	node := int64(1)
	if all, err := Keep(t.Context(), k, "n", x.scheme, 2, &Options{Node: &node}); !errors.Is(err, ErrInvalid) ||
		len(all)+k.calls != 0 {
		t.Errorf("two leases of one node: %v, %v after %d calls", all, err, k.calls)
	}
	for node, want := range map[int64]string{-1: "a node", 0: "node 0"} {
		if got := (&kept{node: node}).String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
