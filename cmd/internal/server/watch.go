package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	watchEvery  = 2 * time.Second // how often the leases of a namespace that is watched are read
	maxWatchers = 1000
)

// watches are the namespaces that somebody watches. Each is read once for all its watchers.
type watches struct {
	mu  sync.Mutex
	n   int // watchers of all of them
	all map[string]*watched
}

// watched is one namespace. Its reader lives as long as it has watchers.
type watched struct {
	users int // guarded by watches.mu
	end   context.CancelFunc

	mu      sync.Mutex
	seen    *leaseView // nil before the first one
	err     error      // why there will be no other one
	changed chan struct{}
}

// leaseView is all leases of a namespace at one time, by node, and those that were not the same in the view before. It never changes.
type leaseView struct {
	version   int64
	all, news []LeaseInfo
}

// Watch calls each with all leases of a namespace, in pieces of at most [PageOfLeases] and at least once, and then every few seconds with those that changed, if only to ask
// whether to go on. It returns when ctx ends, when each returns an error, or when the leases cannot be read. However many watch a namespace, the store is read once.
func (s *Service) Watch(ctx context.Context, namespace string, each func([]LeaseInfo) error) error {
	w, leave, err := s.watched(namespace)
	if err != nil {
		return err
	}
	defer leave()
	var have *leaseView
	for {
		view, err := w.next(ctx, have)
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

// watched returns a namespace that is read until leave is called.
func (s *Service) watched(namespace string) (w *watched, leave func(), err error) {
	ws := &s.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.n >= maxWatchers {
		return nil, nil, kindError{TooMuch, fmt.Errorf("%d watch already, the server's limit: list the leases instead", maxWatchers)}
	}
	if w = ws.all[namespace]; w == nil {
		ctx, end := context.WithCancel(context.Background())
		w = &watched{end: end, changed: make(chan struct{})}
		if ws.all == nil {
			ws.all = map[string]*watched{}
		}
		ws.all[namespace] = w
		go s.read(ctx, namespace, w)
	}
	ws.n++
	w.users++
	return w, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.n--
		if w.users--; w.users == 0 {
			w.end()
			ws.forget(namespace, w)
		}
	}, nil
}

// forget makes the next watcher begin anew. mu is held.
func (ws *watches) forget(namespace string, w *watched) {
	if ws.all[namespace] == w {
		delete(ws.all, namespace)
	}
}

// read reads the leases of a namespace over and over until ctx ends or they cannot be read. A namespace that takes long is read less often, so that
// it has at most a tenth of the store's time.
func (s *Service) read(ctx context.Context, namespace string, w *watched) {
	var before *leaseView
	for {
		began := s.now()
		all, err := s.allLeases(ctx, namespace)
		if err != nil {
			s.watches.mu.Lock()
			s.watches.forget(namespace, w)
			s.watches.mu.Unlock()
			w.publish(nil, err)
			return
		}
		view := &leaseView{version: 1, all: all}
		if before != nil {
			view.version, view.news = before.version+1, view.since(before)
		}
		w.publish(view, nil)
		before = view
		pause := time.NewTimer(max(watchEvery, 9*s.now().Sub(began)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// allLeases returns the leases of a namespace, by node.
func (s *Service) allLeases(ctx context.Context, namespace string) (all []LeaseInfo, err error) {
	for after := int64(-1); ; after = all[len(all)-1].Node {
		page, err := s.Leases(ctx, namespace, after, PageOfLeases, false)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(page, func(a, b LeaseInfo) int { return cmp.Compare(a.Node, b.Node) })
		if all = append(all, page...); len(page) < PageOfLeases {
			return all, nil
		}
	}
}

// publish gives watchers what was read.
func (w *watched) publish(view *leaseView, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.seen = view
	}
	w.err = err
	close(w.changed)
	w.changed = make(chan struct{})
}

// next returns the present view when it is another one than have, and waits for that.
func (w *watched) next(ctx context.Context, have *leaseView) (*leaseView, error) {
	for ctx.Err() == nil {
		w.mu.Lock()
		view, err, changed := w.seen, w.err, w.changed
		w.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case view != have:
			return view, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil, context.Cause(ctx) // the client is gone, or the server stops
}

// since returns the leases that are not the same in an earlier view; all of them where there is none.
func (v *leaseView) since(earlier *leaseView) (news []LeaseInfo) {
	switch {
	case earlier == nil:
		return v.all
	case v.news != nil && earlier.version == v.version-1:
		return v.news
	}
	news = []LeaseInfo{}
	old := earlier.all
	for _, l := range v.all {
		for len(old) > 0 && old[0].Node < l.Node {
			old = old[1:]
		}
		if len(old) == 0 || old[0] != l {
			news = append(news, l)
		}
	}
	return news
}
