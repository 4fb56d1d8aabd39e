package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// TestHints does what errors say, each time until it works.
func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := store.NewMemory()
		scheme := func(l snowfence.Layout) *snowfence.Scheme {
			return must(snowfence.NewScheme(l))
		}
		s := scheme(snowfence.Default())
		open := func(o *lease.Options) (*lease.Lease, error) { return lease.Open(t.Context(), st, "orders", s, o) }
		says := func(err error, text string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Fatalf("it should say %q: %v", text, err)
			}
		}
		works := func(l *lease.Lease, err error) {
			t.Helper()
			if err == nil {
				err = l.Close()
			}
			noError(t, err)
		}

		_, err := open(nil)
		says(err, "no such namespace in this store: create it")
		must(scope.Namespaces(st).Create(t.Context(), "orders", s,
			&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 1, Until: 2}}))
		holder := must(open(nil))
		_, err = open(&lease.Options{Within: snowfence.NodeRange{From: 1, Until: 2}})
		says(err, "wait (Options.Wait), stop a holder, or make more nodes leasable, or widen Options.Within")
		go func() {
			time.Sleep(time.Minute)
			wantErr(t, holder.Close(), nil, "the holder is closed")
		}()
		works(open(&lease.Options{Wait: true}))
		holder = must(open(nil))
		_, err = open(&lease.Options{Within: snowfence.NodeRange{From: 2, Until: 4}})
		says(err, "as Options.Within asks: make more leasable, or ask for others")
		must(scope.Namespaces(st).Change(t.Context(), "orders",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 1, Until: 4}, Unused: time.Now()}))
		works(open(&lease.Options{Within: snowfence.NodeRange{From: 2, Until: 4}}))
		works(open(nil)) // more are leasable, and Within is widened
		noError(t, holder.Close())

		other := scheme(snowfence.MustLayout("sonyflake"))
		_, err = lease.Open(t.Context(), st, "orders", other, nil)
		says(err, "use its layout, or another namespace")
		wantErr(t, err, lease.ErrMismatch, "another layout")
		l := must(snowfence.ParseLayout(layoutOf(t, st, "orders")))
		works(lease.Open(t.Context(), st, "orders", scheme(l), nil))
		must(scope.Namespaces(st).Create(t.Context(), "other", other, nil))
		works(lease.Open(t.Context(), st, "other", other, nil))

		_, err = open(&lease.Options{Guard: true})
		says(err, "Options.Guard needs Options.Node")
		node := int64(2)
		works(open(&lease.Options{Guard: true, Node: &node}))
		_, err = open(&lease.Options{Node: &node, Within: snowfence.NodeRange{From: 2, Until: 4}})
		says(err, "leave one of them out")
		works(open(&lease.Options{Node: &node}))
	})
}

// TestFenceHint does what the error of a generator without a fence says.
func TestFenceHint(t *testing.T) {
	_, err := snowfence.New(snowfence.Config{})
	if err == nil || !strings.Contains(err.Error(), "Config.Fence is nil: use a lease, statefile.File or Unguarded") {
		t.Fatal(err)
	}
	s := must(snowfence.NewScheme(snowfence.Default()))
	l := must(lease.Open(t.Context(), store.NewMemory(), "default", s, &lease.Options{Create: true}))
	g := must(snowfence.New(snowfence.Config{Fence: l}))
	must(g.Next(context.Background()))
	noError(t, errors.Join(g.Close(), l.Close()))
}

func layoutOf(t *testing.T, st store.Store, namespace string) string {
	t.Helper()
	ns := must(scope.Namespaces(st).Show(t.Context(), namespace))
	return ns.Layout.String()
}
