package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// desk is a server in the same process, with one clerk. Its clock is the
// system's.
type desk struct {
	*testing.T
	mu     sync.Mutex
	st     store.Store
	scheme *snowfence.Scheme
	asked  []wire.Request
}

func newDesk(t *testing.T, nodes int64) *desk {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))) // after the epoch of the layout
	d := &desk{T: t, st: store.NewMemory()}
	var err error
	if d.scheme, err = snowfence.NewScheme(snowfence.MustLayout("snowfence")); err == nil {
		o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: nodes}}
		_, err = scope.Namespaces(d.st).Create(t.Context(), "n", d.scheme, o)
	}
	noError(t, err)
	return d
}

func (d *desk) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r)
	return lease.Serve(d.st, d.scheme, nil).Acquire(ctx, name, r)
}

func (d *desk) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return lease.Serve(d.st, d.scheme, nil).Renew(ctx, t, attempt, earlier)
}

func (d *desk) Release(ctx context.Context, t wire.Ticket, used int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return lease.Serve(d.st, d.scheme, nil).Release(ctx, t, used)
}

func (d *desk) keep(n int, o *lease.Options) []*lease.Lease {
	d.Helper()
	all := must(lease.Keep(d.Context(), d, "n", d.scheme, n, o))
	return all
}

// held returns how many nodes have a holder.
func (d *desk) held() (n int) {
	d.Helper()
	rs := must(scope.Namespaces(d.st).Leases(d.Context(), "n"))
	for _, r := range rs {
		if r.Holder != "" {
			n++
		}
	}
	return n
}

const keptTTL = 9 * time.Second

// A lease over a server ends when the namespace gets another layout.
func TestKeepOfAnotherLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 3)
		l := d.keep(1, &lease.Options{TTL: keptTTL, Idle: -1})[0]
		next := must(snowfence.NewScheme(snowfence.MustLayout("time=42,node=10,seq=12,epoch=2025-01-01")))
		must(scope.Namespaces(d.st).Change(t.Context(), "n", next, nil))
		d.mu.Lock()
		d.scheme = next
		d.mu.Unlock()
		time.Sleep(keptTTL)
		select {
		case <-l.Done():
		default:
			t.Errorf("it goes on: %+v", l.Status())
		}
	})
}

// Leases are opened together, all or none.
func TestKeepAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 3)
		all := d.keep(3, &lease.Options{TTL: keptTTL})
		if len(all) != 3 || d.held() != 3 {
			t.Fatalf("%d leases; %d are held", len(all), d.held())
		}
		for _, r := range d.asked[1:] { // a server finds a free node sooner if it is told one
			if r.Prefer == nil || *r.Prefer == all[0].Status().Grant.Node {
				t.Errorf("the next lease asked for the node %v", r.Prefer)
			}
		}
		noError(t, lease.ShutdownAll(t.Context(), all))
		noError(t, d.keep(1, &lease.Options{Node: new(int64(1))})[0].Close())
		if all, err := lease.Keep(t.Context(), d, "n", d.scheme, 4, nil); !errors.Is(err, lease.ErrTaken) ||
			len(all) != 0 || d.held() != 0 {
			t.Errorf("four of three: %v, %v; %d are held", all, err, d.held())
		}
	})
}
