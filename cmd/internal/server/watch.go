package server

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	watchEvery  = 2 * time.Second  // how often the leases of a namespace are read
	linger      = 10 * time.Second // how long they are read on after the last watcher left
	maxWatchers = 1000
	viewTimeout = 30 * time.Second // of one reading
)

// watches are the namespaces that somebody watches. Each is read once for all its watchers.
type watches struct {
	mu   sync.Mutex
	n    int // watchers of all of them
	all  map[string]*Watched
	wait sync.WaitGroup // of the readers
}

// Watched is a namespace whose leases are read over and over, once for all who watch it.
type Watched struct {
	service  *Service
	name     string
	users    int       // guarded by watches.mu, as is left
	lastLeft time.Time // when the last user left

	mu      sync.Mutex
	last    *View         // the last one; nil before the first
	err     error         // of the last reading
	changed chan struct{} // closed and replaced at each reading
}

// View is all leases of a namespace at one time. It never changes.
type View struct {
	Namespace lease.Namespace
	Layout    snowfence.Layout
	From, At  time.Time   // when reading began and ended
	Leases    []LeaseInfo // by node
	Picture   any         // see Service.Draw

	version int64
	changes []LeaseInfo // those that were not the same in the view before
}

// View reads the leases of a namespace.
func (s *Service) View(ctx context.Context, namespace string) (*View, error) {
	late := fmt.Errorf("the store did not list all leases in %v", viewTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, viewTimeout, late)
	defer cancel()
	v := &View{From: s.now(), version: 1}
	var err error
	if v.Namespace, v.Layout, err = s.layout(ctx, namespace); err != nil {
		return nil, err
	}
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	for r, err := range store.Records(ctx, s.store, namespace, nodes) {
		if err != nil {
			return nil, err
		}
		v.Leases = append(v.Leases, v.Describe(r))
	}
	v.At = s.now()
	return v, nil
}

// Describe returns a record as people see it when the reading began.
func (v *View) Describe(r store.Record) LeaseInfo {
	if r.Generation < v.Namespace.Since { // its ticks are those of another layout, and the floor is above them
		r.Holder, r.From, r.Until = "", v.Namespace.Floor, v.Namespace.Floor
	}
	return LeaseInfo{
		Node: r.Node, Label: r.Label, Held: r.Held(v.Layout.TickOf(v.From)), Taken: r.Holder != "", Holder: r.Holder,
		From: v.Layout.TimeOf(r.From), Until: v.Layout.TimeOf(r.Until), Written: time.UnixMilli(r.At).UTC(),
		Veto: r.Veto,
	}
}

// Watch calls each with all leases of a namespace, in pieces of at most [PageOfLeases] and at least
// once, and then every few seconds with those that changed, if only to ask whether to go on. It
// returns when ctx ends, when each returns an error, or when the leases cannot be read.
func (s *Service) Watch(ctx context.Context, namespace string, each func([]LeaseInfo) error) error {
	w, leave, err := s.Watched(namespace)
	if err != nil {
		return err
	}
	defer leave()
	var have *View
	for {
		view, err := w.Next(ctx, have)
		if err != nil {
			return err
		}
		news := view.since(have)
		for first := true; first || len(news) > 0; first = false {
			n := min(len(news), PageOfLeases)
			if err := each(news[:n]); err != nil {
				return err
			}
			news = news[n:]
		}
		have = view
	}
}

// Watched returns a namespace whose leases are read until leave is called, and a little longer.
func (s *Service) Watched(namespace string) (w *Watched, leave func(), err error) {
	ws := &s.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.n >= maxWatchers {
		return nil, nil, Errorf(TooMuch, "%d watch already, the server's limit: list the leases instead", maxWatchers)
	}
	if w = ws.all[namespace]; w == nil {
		w = &Watched{service: s, name: namespace, changed: make(chan struct{})}
		ws.all[namespace] = w
		if s.life.Err() == nil {
			ws.wait.Go(w.run)
		}
	}
	ws.n++
	w.users++
	return w, sync.OnceFunc(func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.n--
		w.users--
		w.lastLeft = s.now()
	}), nil
}

// run reads the leases until nobody has wanted them for a while. A namespace that takes long is
// read less often, so that it has at most a tenth of the store's time.
func (w *Watched) run() {
	s := w.service
	for !w.dropIfUnused() {
		began, before := s.now(), w.last
		view, err := s.View(s.life, w.name)
		if err == nil {
			if before != nil {
				view.version, view.changes = before.version+1, view.since(before)
			}
			if s.Draw != nil {
				view.Picture = s.Draw(view, before)
			}
		}
		w.publish(view, err)
		pause := time.NewTimer(max(watchEvery, 9*s.now().Sub(began)))
		select {
		case <-pause.C:
		case <-s.life.Done():
			pause.Stop()
		}
	}
}

// dropIfUnused forgets a namespace that nobody wants, and reports whether it did.
func (w *Watched) dropIfUnused() bool {
	s := w.service
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	if s.life.Err() == nil && (w.users > 0 || s.now().Sub(w.lastLeft) < linger) {
		return false
	}
	delete(s.watches.all, w.name)
	return true
}

// publish gives watchers what was read. After a failure the last view stays.
func (w *Watched) publish(view *View, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.last = view
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// current returns the last view, what to wait on for the next reading, and the error of the last.
func (w *Watched) current() (*View, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.changed, w.err
}

// Last returns the last view, and waits for the first one.
func (w *Watched) Last(ctx context.Context) (*View, error) {
	if view, _, _ := w.current(); view != nil {
		return view, nil
	}
	return w.Next(ctx, nil)
}

// Next returns the present view if it is another one than have, and otherwise the result of the
// next reading.
func (w *Watched) Next(ctx context.Context, have *View) (*View, error) {
	view, changed, err := w.current()
	for ctx.Err() == nil && (err != nil || view == have) {
		select {
		case <-changed:
		case <-w.service.life.Done():
			return nil, ErrStopping
		case <-ctx.Done():
			continue
		}
		if view, changed, err = w.current(); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the client is gone, or the server stops
	}
	return view, nil
}

// since returns the leases that are not the same in an earlier view; all of them where
// there is none.
func (v *View) since(earlier *View) (news []LeaseInfo) {
	switch {
	case earlier == nil:
		return v.Leases
	case v.changes != nil && earlier.version == v.version-1:
		return v.changes
	}
	news = []LeaseInfo{}
	old := earlier.Leases
	for _, l := range v.Leases {
		for len(old) > 0 && old[0].Node < l.Node {
			old = old[1:]
		}
		if len(old) == 0 || old[0] != l {
			news = append(news, l)
		}
	}
	return news
}
