//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease"
	shared "github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

const ttl = 2 * time.Second

// fleet is some generators that make IDs all the time, each with a client of its own, and
// the check that none comes twice.
type fleet struct {
	*testing.T
	scheme  *snowfence.Scheme
	members []*servers.Etcd

	mu      sync.Mutex
	seen    map[snowfence.ID]string
	workers []*worker
}

type worker struct {
	st   *etcdstore.Store
	l    *lease.Lease
	stop context.CancelFunc
	done chan struct{}
	made atomic.Int64 // IDs
	top  atomic.Int64 // highest tick of an ID
	dry  atomic.Int64 // how often there was none to be had
}

func newFleet(t *testing.T, members ...*servers.Etcd) *fleet {
	t.Helper()
	l, err := snowfence.ParseLayout("time=41,node=4,seq=18,epoch=2025-01-01,tick=1ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	return &fleet{T: t, scheme: s, members: members, seen: map[snowfence.ID]string{}}
}

// start starts n generators more.
func (f *fleet) start(n int) {
	f.Helper()
	for range n {
		st, err := etcdstore.New(servers.EtcdClient(f, f.members...), &etcdstore.Options{
			Prefix:  "fleet",
			Timeout: ttl / 4,
		})
		if err != nil {
			f.Fatal(err)
		}
		w := &worker{st: st, done: make(chan struct{})}
		o := &lease.Options{TTL: ttl, Create: true, Wait: true, Label: fmt.Sprint("worker", len(f.workers))}
		shared.Eventually(f, "a lease", func() (err error) { // a busy machine answers late
			limits := &lease.NamespaceOptions{MaxTTL: ttl, MaxSkew: ttl}
			if _, err := lease.Namespaces(st).Create(f.Context(), "default", f.scheme, limits); err != nil && !errors.Is(err, lease.ErrExists) {
				return err
			}
			w.l, err = lease.Open(f.Context(), st, "default", f.scheme, o)
			return err
		})
		g, err := snowfence.New(snowfence.Config{Fence: w.l, MaxWait: shared.Patience()})
		if err != nil {
			f.Fatal(err)
		}
		var ctx context.Context
		ctx, w.stop = context.WithCancel(f.Context())
		f.Cleanup(w.halt)
		f.workers = append(f.workers, w)
		go f.work(ctx, w, g, fmt.Sprint("worker ", len(f.workers)))
	}
}

func (f *fleet) work(ctx context.Context, w *worker, g *snowfence.Generator, name string) {
	defer close(w.done)
	ids := make([]snowfence.ID, 16)
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		n, err := g.Fill(short, ids)
		cancel()
		switch {
		case errors.Is(err, lease.ErrEnded):
			f.Errorf("%s ended: %v", name, err)
			return
		case err != nil:
			w.dry.Add(1)
		}
		f.mu.Lock()
		for _, id := range ids[:n] {
			if other, ok := f.seen[id]; ok {
				f.Errorf("ID %d was made twice, by %s and by %s", id, other, name)
			}
			f.seen[id] = name
		}
		f.mu.Unlock()
		for _, id := range ids[:n] {
			p, err := f.scheme.Decode(id)
			if err != nil {
				f.Error(err)
			}
			w.top.Store(max(w.top.Load(), p.Tick))
		}
		w.made.Add(int64(n))
		time.Sleep(2 * time.Millisecond) // not as many as there can be, or memory fills up
	}
}

// halt stops a generator as a crash does: nothing is given back.
func (w *worker) halt() {
	w.stop()
	<-w.done
	w.l.Orphan()
}

// crash ends all generators.
func (f *fleet) crash() {
	for _, w := range f.workers {
		w.halt()
	}
	f.workers = nil
}

// await waits for a condition of every worker.
func (f *fleet) await(what string, is func(*worker) bool) {
	f.Helper()
	for _, w := range f.workers {
		shared.Eventually(f, what, func() error {
			if !is(w) {
				return fmt.Errorf("%+v", w.l.Status())
			}
			return nil
		})
	}
}

// renewed waits until every lease was renewed or acquired twice from now on, and used since.
func (f *fleet) renewed() {
	f.Helper()
	for range 2 {
		type state struct{ node, until int64 }
		before := map[*worker]state{}
		for _, w := range f.workers {
			g := w.l.Status().Grant
			before[w] = state{g.Node, g.Until}
		}
		f.await("renewed", func(w *worker) bool {
			s := w.l.Status()
			return s.Held && s.Trouble == nil && (s.Grant.Until > before[w].until || s.Grant.Node != before[w].node)
		})
	}
	f.progress()
}

// progress waits until every generator has made IDs from now on.
func (f *fleet) progress() {
	f.Helper()
	before := map[*worker]int64{}
	for _, w := range f.workers {
		before[w] = w.made.Load()
	}
	f.await("more IDs", func(w *worker) bool { return w.made.Load() > before[w]+100 })
}

// identity asks one store who it is.
func (f *fleet) identity() string {
	f.Helper()
	st := openStore(f, servers.EtcdClient(f, f.members...), "fleet")
	var ns lease.Namespace
	shared.Eventually(f, "the identity", func() (err error) {
		ns, err = lease.Namespaces(st).Show(f.Context(), "default")
		return err
	})
	return ns.Identity
}

// leader returns which member leads.
func (f *fleet) leader() (leader *servers.Etcd, others []*servers.Etcd) {
	f.Helper()
	c := servers.EtcdClient(f, f.members...)
	shared.Eventually(f, "a leader", func() error {
		leader, others = nil, nil
		for _, m := range f.members {
			ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
			s, err := c.Status(ctx, m.URL())
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				leader = m
			} else {
				others = append(others, m)
			}
		}
		if leader == nil {
			return errors.New("none of the members leads")
		}
		return nil
	})
	return leader, others
}
