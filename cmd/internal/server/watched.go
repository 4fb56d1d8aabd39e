package server

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Watched is a namespace with leases that are read over and over, once for
// all watchers.
type Watched struct {
	views    *Views
	name     string
	users    int       // guarded by Views.mu, as is lastLeft
	lastLeft time.Time // when the last user left

	mu     sync.Mutex
	last   *View         // the last one; nil before the first
	err    error         // of the last reading
	change chan struct{} // closed and replaced at each reading
}

const (
	watchEvery = 2 * time.Second  // how often the leases of a namespace are read
	linger     = 10 * time.Second // how long they are read on after the last watcher left
)

// run reads the leases until no page has wanted them for a while. A
// namespace that takes long is read less often, so that it has at most a
// tenth of the store's time.
func (w *Watched) run() {
	s := w.views
	for !w.dropIfUnused() {
		began, before := s.core.now(), w.last
		v, err := s.Read(s.core.life, w.name)
		if err == nil {
			v.follow(cmp.Or(before, &View{}))
			if s.Draw != nil {
				v.Picture = s.Draw(v)
			}
		}
		w.publishView(v, err)
		pause := time.NewTimer(max(watchEvery, 9*s.core.now().Sub(began)))
		select {
		case <-pause.C:
		case <-s.core.life.Done():
			pause.Stop()
		}
	}
}

// dropIfUnused forgets a namespace that no page wants, and reports whether
// it did.
func (w *Watched) dropIfUnused() bool {
	s := w.views
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.core.life.Err() == nil && (w.users > 0 || s.core.now().Sub(w.lastLeft) < linger) {
		return false
	}
	delete(s.all, w.name)
	return true
}

// publishView gives watchers the view. After a failure the last view stays.
func (w *Watched) publishView(view *View, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.last = view
	}
	close(w.change)
	w.change = make(chan struct{})
}

// Last returns the last view, and waits for the first one.
func (w *Watched) Last(ctx context.Context) (*View, error) {
	if view, _, _ := w.lastView(); view != nil {
		return view, nil
	}
	return w.Next(ctx, 0)
}

// lastView returns the last view, the channel that the next reading closes,
// and the error of the last.
func (w *Watched) lastView() (*View, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.change, w.err
}

// Next returns the present view if its version is another one than have,
// and otherwise the result of the next reading.
func (w *Watched) Next(ctx context.Context, have int64) (*View, error) {
	view, changed, err := w.lastView()
	for ctx.Err() == nil && (err != nil || view == nil || view.Version == have) {
		select {
		case <-changed:
		case <-w.views.core.life.Done():
			return nil, ErrStopping
		case <-ctx.Done():
			continue
		}
		if view, changed, err = w.lastView(); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the client is gone, or the server stops
	}
	return view, nil
}
