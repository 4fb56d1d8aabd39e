// Package lessor hands out single nodes from memory: it leases whole units
// ahead of demand, sublets their nodes, and gives empty units back. It is
// for servers and agents.
package lessor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// Open leases a unit within a range of nodes, for the lessor of a life. The
// zero range means any nodes.
type Open func(ctx context.Context, within snowfence.NodeRange, life string) (*sublet.Server, error)

// Lessor is a [wire.Server] of single nodes, from units that it leases as
// it needs them. It sends all other calls on to the store. Nothing in its
// memory has to survive: [sublet.Server] has the rules. It is safe for
// concurrent use.
type Lessor struct {
	id    string // of this process: no other lessor has or had it
	size  int64  // nodes of a unit
	open  Open
	store wire.Server
	onEnd func(error)
	gate  chan struct{} // semaphore of one: hold it to lease a unit
	life  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup

	last    atomic.Int64 // the unit where a node was free last
	holders atomic.Int64 // nodes with a holder at the last look, and those sublet and not released since
	freed   sync.Map     // nodes that were released since the last look: a release may be repeated
	all     atomic.Int64 // nodes of all units
	ahead   atomic.Bool  // a unit is being leased ahead of demand

	mu        sync.RWMutex // of what follows; held for reading while a node is sublet, so that its unit stays
	units     []*unit
	byLife    map[string]*unit
	unitCount int // units ever
	failure   error
	until     time.Time // end of the time in which failure is told
	ended     bool
}

// unit is a lease of sublet nodes.
type unit struct {
	*sublet.Server
	life   string
	nodes  int64
	sublet int64     // how many have a holder, at the last look
	empty  time.Time // since when it has no holder; zero while it has one
}

var errEnded = fmt.Errorf("the lessor is stopping: %w", lease.ErrEnded)

// New returns a lessor without units. id must be a text that no lessor had
// before, without a dot. A unit has size nodes; with 1, nothing is sublet.
// onEnd learns of each unit whose lease ended by itself: the namespace was
// deleted, changed or moved.
func New(id string, size int64, open Open, store wire.Server, onEnd func(error)) *Lessor {
	l := &Lessor{
		id: id, size: size, open: open, store: store, onEnd: onEnd, gate: make(chan struct{}, 1),
		byLife: map[string]*unit{},
	}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// IDOf returns the id of a lease's lessor; "" for a lease of the store.
func IDOf(l wire.Lease) string {
	id, _, _ := strings.Cut(l.Lessor, ".")
	return id
}

// Sublets reports whether a request is for a single node, which is answered
// from memory.
func (l *Lessor) Sublets(r wire.Request) bool { return l.size > 1 && r.Node == nil && r.Nodes <= 1 }

// Acquire implements [wire.Server]: it sublets a node, and leases another
// unit if none is free.
//
// A request within a range leases no unit while others have room: else
// 16 requests could take 16 units.
func (l *Lessor) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	for l.Sublets(r) {
		a, seen, err := l.subletNode(ctx, namespace, r)
		if !errors.Is(err, lease.ErrTaken) || r.Known {
			return a, err
		}
		within := r.Within != snowfence.NodeRange{}
		if all := l.all.Load(); within && all > 0 && !most(l.holders.Load(), all) {
			return wire.Lease{}, fmt.Errorf("namespace %q: %w among the wanted ones, but units of %d nodes have "+
				"room: ask for any node, or for a whole unit", namespace, lease.ErrTaken, l.size)
		}
		if err := l.leaseUnit(ctx, r.Within, seen); err != nil {
			return wire.Lease{}, err
		}
	}
	return l.store.Acquire(ctx, namespace, r)
}

// subletNode tries all units, first the unit of the last free node. Its
// error is [lease.ErrTaken] if another unit may help. seen is the number of
// units.
func (l *Lessor) subletNode(
	ctx context.Context, namespace string, r wire.Request,
) (none wire.Lease, seen int, err error) {
	if len(r.Earlier) > 0 && !r.Known { // an earlier attempt may have a node of any unit
		first := r
		first.Known = true
		if a, seen, err := l.subletNode(ctx, namespace, first); err == nil {
			return a, seen, nil
		}
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.ended {
		return none, 0, errEnded
	}
	err = lease.ErrTaken
	for k := range l.units {
		i := (int(l.last.Load()) + k) % len(l.units)
		a, failed := l.units[i].Acquire(ctx, namespace, r)
		switch {
		case failed == nil:
			l.last.Store(int64(i))
			if len(r.Earlier) == 0 { // otherwise an earlier attempt may have counted
				l.freed.Delete(a.Grant.Node)
				l.noteSublets(1)
			}
			return a, l.unitCount, nil
		case errors.Is(failed, lease.ErrTaken), errors.Is(failed, lease.ErrEnded):
		default:
			err = failed // another unit would begin as late, or could not be leased
		}
	}
	return none, l.unitCount, err
}

// Renew implements [wire.Server].
func (l *Lessor) Renew(
	ctx context.Context, t wire.Ticket, attempt string, earlier []string,
) (none wire.Lease, _ error) {
	u, err := l.serverOf(t)
	if err != nil {
		return none, err
	}
	return u.Renew(ctx, t, attempt, earlier)
}

// Release implements [wire.Server].
func (l *Lessor) Release(ctx context.Context, t wire.Ticket, used int64) error {
	u, err := l.serverOf(t)
	switch {
	case errors.Is(err, store.ErrLost):
		return nil
	case err != nil:
		return err
	}
	err = u.Release(ctx, t, used)
	if _, sublet := u.(*unit); sublet && err == nil {
		good, _ := lease.ReadTicket(t)
		if _, again := l.freed.LoadOrStore(good.Grant.Node, true); !again {
			l.holders.Add(-1) // the next look counts what is not free
		}
	}
	return err
}

// serverOf returns the unit of a ticket, or the store. It decides whether
// the ticket is good.
func (l *Lessor) serverOf(b wire.Ticket) (wire.Server, error) {
	t, _ := lease.ReadTicket(b)
	switch {
	case t.Lessor == "": // or it is no ticket, which the store refuses
		return l.store, nil
	case IDOf(t) != l.id:
		return nil, fmt.Errorf("node %d of namespace %q: %w", t.Grant.Node, t.Namespace, lease.ErrElsewhere)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if u := l.byLife[t.Lessor]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("node %d of namespace %q: %w: its unit was lost or given back", t.Grant.Node,
		t.Namespace, store.ErrLost)
}

// Held returns how many nodes are not free now, as [sublet.Server.Held]
// says.
func (l *Lessor) Held(such func(label string) bool) (n int64) {
	l.mu.RLock()
	units := slices.Clone(l.units)
	l.mu.RUnlock()
	for _, u := range units { // without the lock, because it takes long where there are very many nodes
		n += u.Held(such)
	}
	return n
}

// Count returns how many nodes are not free, as of the last second, and how
// many the units have.
func (l *Lessor) Count() (held, nodes int64) { return max(l.holders.Load(), 0), l.all.Load() }

// Unit is the hold of a unit's lease.
type Unit struct {
	snowfence.Grant
	Sublet  int64 // nodes that have a holder, as of the last second
	Trouble error // what went wrong at the last attempt to renew it
}

// Units returns the units that are held.
func (l *Lessor) Units() (out []Unit) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, u := range l.units {
		if s := u.Lease().Status(); s.Held {
			out = append(out, Unit{s.Grant, u.sublet, s.Trouble})
		}
	}
	return out
}

// Close seals all units, and gives them back as far as the store answers
// until ctx ends.
func (l *Lessor) Close(ctx context.Context) error {
	l.mu.Lock()
	l.ended = true
	leases := make([]*lease.Lease, len(l.units))
	for i, u := range l.units {
		leases[i] = u.Lease()
	}
	l.mu.Unlock()
	l.end()
	err := lease.ShutdownAll(ctx, leases)
	select {
	case l.gate <- struct{}{}: // a unit that was being leased was given back
		<-l.gate
	case <-ctx.Done():
	}
	l.work.Wait()
	return err
}
