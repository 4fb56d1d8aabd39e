package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

const (
	lookEvery = 2 * time.Second
	linger    = 10 * time.Second // how long a namespace is looked at after the last page has gone
	maxNodes  = 1 << 18          // records that are looked at
	maxCells  = 1 << 17          // squares of a map; of more nodes several share one
)

// watches are the namespaces whose leases somebody looks at. Their records are read over and over, once for all who look.
type watches struct {
	ctx     context.Context
	service *server.Service
	wait    *sync.WaitGroup

	mu  sync.Mutex
	all map[string]*watched
}

func newWatches(ctx context.Context, s *server.Service, wait *sync.WaitGroup) *watches {
	return &watches{ctx: ctx, service: s, wait: wait, all: map[string]*watched{}}
}

// watched is one namespace. What is published is never changed.
type watched struct {
	name string

	mu      sync.Mutex
	users   int
	left    time.Time // when the last user left
	seen    *look
	err     error
	changed chan struct{} // closed and replaced after each look
}

// open returns what is known of a namespace, and keeps it up to date until close is called.
func (ws *watches) open(name string) (w *watched, done func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w = ws.all[name]
	if w == nil {
		w = &watched{name: name, changed: make(chan struct{})}
		ws.all[name] = w
		if ws.ctx.Err() == nil {
			ws.wait.Go(func() { ws.keep(w) })
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users++
	return w, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.users--
		w.left = time.Now()
	})
}

// keep looks at a namespace until nobody has wanted it for a while. A look that took long is not repeated at once, so that the store has
// at most a tenth of its time taken.
func (ws *watches) keep(w *watched) {
	offsets := map[int64]offset{}
	for {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ws.ctx, 30*time.Second)
		l, err := takeLook(ctx, ws.service, w.name)
		cancel()
		if err == nil {
			w.mu.Lock()
			before := w.seen
			w.mu.Unlock()
			l.compare(before, offsets)
			for _, text := range l.fenced(before) {
				ws.service.Events.Add(server.Event{Kind: "fenced", Namespace: w.name, Text: text})
			}
		}
		w.publish(l, err)
		select {
		case <-ws.ctx.Done():
			return
		case <-time.After(max(lookEvery, 9*time.Since(began))):
		}
		if ws.drop(w) {
			return
		}
	}
}

// drop forgets a namespace that nobody wants.
func (ws *watches) drop(w *watched) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users > 0 || time.Since(w.left) < linger {
		return false
	}
	delete(ws.all, w.name)
	return true
}

// publish makes a look the present one. After a failure the last one stays.
func (w *watched) publish(l *look, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if err == nil {
		w.seen = l
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// present returns the last look, and what to wait on for the next one.
func (w *watched) present() (l *look, next <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.changed, w.err
}

// first returns a look, and waits for the first one.
func (w *watched) first(ctx context.Context) (*look, error) {
	for {
		l, next, err := w.present()
		switch {
		case l != nil:
			return l, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, fmt.Errorf("namespace %q: its leases: %w", w.name, ctx.Err())
		}
	}
}

// takeLook reads a namespace and its leases.
func takeLook(ctx context.Context, s *server.Service, name string) (*look, error) {
	ns, err := lease.ShowNamespace(ctx, s.Store(), name)
	if err != nil {
		return nil, err
	}
	layout, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	l := &look{namespace: ns, layout: layout, from: time.Now(), nodes: 1 << min(layout.Bits(snowfence.FieldNode), 62)}
	for r, err := range lease.Records(ctx, s.Store(), lease.Query{Namespace: name, Last: l.nodes - 1, Limit: maxNodes}) {
		if err != nil {
			return nil, err
		}
		l.rows = append(l.rows, l.row(r))
	}
	l.at = time.Now()
	l.own = own(s, name)
	l.paint()
	return l, nil
}

// own returns the nodes that this server itself holds.
func own(s *server.Service, name string) (o [2]int64) {
	for _, sp := range s.Spaces() {
		if sp.Name != name {
			continue
		}
		if st, ok := sp.Status(); ok && st.Held {
			return [2]int64{st.Grant.Node, st.Grant.Node + max(st.Grant.Nodes, 1)}
		}
	}
	return o
}
