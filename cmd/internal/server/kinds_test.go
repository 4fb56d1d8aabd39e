package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

func TestKinds(t *testing.T) {
	st := newStore(t, "n")
	create(t, st, "few", "twitter")
	s := newService(t, st, Options{})
	ctx := t.Context()
	acquire := func(name string, o wire.Request) error {
		_, _, err := s.Leases.Acquire(ctx, Open().Anyone(), name, o)
		return err
	}
	sp := must(s.Spaces.Find(ctx, "n"))
	node, far := int64(3), int64(5000)
	for _, name := range []string{"n", "few"} {
		noError(t, acquire(name, wire.Request{Label: "a", Node: &node}))
	}
	space := func(name string) error { _, err := s.Spaces.Find(ctx, name); return err }
	create := func(name, layout string, first, last int64) error {
		m := &pb.CreateNamespaceRequest{Name: name, Layout: layout}
		if last > 0 {
			m.FirstNode, m.LastNode = &first, &last
		}
		_, err := s.Management.CreateNamespace(ctx, m)
		return err
	}
	change := func(name, layout string) error {
		_, err := s.Management.ChangeNamespace(ctx, &pb.ChangeNamespaceRequest{Name: name, Layout: layout})
		return err
	}
	remove := func(confirm string) error {
		_, err := s.Management.DeleteNamespace(ctx, &pb.DeleteNamespaceRequest{Name: "n", Confirm: confirm})
		return err
	}
	renew := func(t wire.Lease, attempt string) error {
		_, _, err := s.Leases.Renew(ctx, Open().Anyone(), t, attempt)
		return err
	}
	granted, _, err := s.Leases.Acquire(ctx, Open().Anyone(), "n", wire.Request{Label: "b"})
	ticket := granted.Lease
	noError(t, err)
	noError(t, s.Leases.Release(ctx, ticket, 0))
	noError(t, create("narrow", "twitter", 30, 63))
	low := snowfence.NodeRange{Until: 30}
	_, badTicket := ReadTicket([]byte("{}"))
	must(scope.Namespaces(st).Create(ctx, "wide", scheme(t, "time=41,node=12"), &scope.NamespaceOptions{Unit: 2048}))
	wide, _, err := s.Leases.Acquire(ctx, Open().Anyone(), "wide", wire.Request{Label: "b", Node: new(int64)})
	noError(t, errors.Join(err, errOf(ReadTicket(wide.Ticket)), renew(wide.Lease, "0123456789abcdef")))
	_, badTime := ParseTime("yesterday")
	_, badID := sp.Decode(-1)
	_, _, backwards := sp.Ranges(time.Unix(2, 0), time.Unix(1, 0), nil)
	noError(t, create("scattered", "scatter=2,time=41,node=10,seq=10", 0, 0))
	scattered := must(s.Spaces.Find(ctx, "scattered"))
	_, _, absent := scattered.Ranges(time.Unix(1, 0), time.Unix(2, 0), map[string]int64{"tag": 1})
	for _, c := range []struct {
		what string
		err  error
		want Kind
	}{
		{"no namespace", space("nowhere"), NoNamespace},
		{"name with a blank", space("a b"), Invalid},
		{"empty name", space(""), Invalid},
		{"ranges within a field that is not there", absent, Invalid},
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
		{"delete without confirmation", remove(""), Refused},
		{"delete in use", remove("n"), Refused},
		{"lease without a label", acquire("n", wire.Request{}), Invalid},
		{"lease with a bad ttl", acquire("n", wire.Request{Label: "x", TTL: time.Hour}), Invalid},
		{"lease with a short ttl", acquire("n", wire.Request{Label: "x", TTL: 1}), Invalid},
		{"lease of three nodes", acquire("n", wire.Request{Label: "x", Nodes: 3}), Invalid},
		{"lease of too many nodes", acquire("n", wire.Request{Label: "x", Nodes: 1 << 20}), Invalid},
		{"lease of a node that is not there", acquire("n", wire.Request{Label: "x", Node: &far}), Invalid},
		{"lease of a node outside of the leasable ones", acquire("narrow", wire.Request{Label: "x", Within: low}), Invalid},
		{"lease of a held node", acquire("n", wire.Request{Label: "x", Node: &node, Guard: true}), NoNodes},
		{"lease in no namespace", acquire("nowhere", wire.Request{Label: "x"}), NoNamespace},
		{"renewal of what was released", renew(ticket, "0123456789abcdef"), Lost},
		{"renewal with a bad attempt", renew(ticket, "x"), Invalid},
		{"bad ticket", badTicket, Invalid},
		{"bad time", badTime, Invalid},
		{"bad ID", badID, Invalid},
		{"range backwards", backwards, Invalid},
		{"batch of none", s.IDs.Batch(ctx, CallerOf(anyone(ctx)), Order{Namespace: "n"}, nil), Invalid},
		{"store that is unreachable", fmt.Errorf("dial tcp: connection refused"), Unavailable},
		{"own lease lost", fmt.Errorf("%w: %w", snowfence.ErrFenced, store.ErrLost), Unavailable},
		{"lease lost, with a wrong clock", errors.Join(store.ErrLost, lease.ErrSkew), Lost},
		{"lease lost, with a refusal", errors.Join(store.ErrLost, lease.ErrRefused), Lost},
		{"own lease for another layout", fmt.Errorf("%w: %w", lease.ErrEnded, lease.ErrMismatch), Unavailable},
		{"lifetime", fmt.Errorf("%w: %w", snowfence.ErrFenced, snowfence.ErrLifetime), Lifetime},
	} {
		if c.err == nil || KindOf(c.err) != c.want {
			t.Errorf("%s: %s (%v), want %s", c.what, KindOf(c.err).Name(), c.err, c.want.Name())
		}
	}
	wantErr(t, create("n", "twitter", 0, 0), nil, "created again as it is")
}

// docs/reference/errors.md says what each kind becomes on each wire.
func TestPageOfErrors(t *testing.T) {
	page := must(os.ReadFile("../../../docs/reference/errors.md"))
	for k := range kinds {
		want := fmt.Sprintf(" | %d | `%s` | `%s` |\n", k.Status(), k.Code(), k.Word())
		_, row, ok := strings.Cut(string(page), "| `"+k.Name()+"` | ")
		if row, _, _ = strings.Cut(row, "\n"); !ok || !strings.HasSuffix(row+"\n", want) {
			t.Errorf("%s is%sand the page says %s", k.Name(), want, row)
		}
	}
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
