// Package server is the service behind every wire: IDs, leases and
// namespaces over a store, for callers that are somewhere else.
//
// The wires (HTTP, gRPC and Connect, the Redis protocol) are packages of
// their own. They read requests, call a [Service], and answer an error by
// its [Kind]. No rule about IDs or leases is theirs.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// MaxBatch is the largest number of IDs in one answer.
const MaxBatch = 1_000_000

// Options say how a Service works. The zero value is good for most.
type Options struct {
	// Block is how many contiguous nodes the server leases in each
	// namespace it makes IDs for, a power of two. 0 means a 64th of those
	// that can be leased, at most 16, and fewer where leases of others
	// leave no block of that length.
	Block int

	// Within narrows the nodes that the server leases, as nodes.Within
	// reads it. A layout without its part keeps all.
	Within string

	// Lead is how many ticks IDs may run ahead of the clock in a burst.
	Lead int64

	// Spread is the spread of the generator, by namespace: see
	// [snowfence.Config].
	Spread map[string]int64

	// TTL is the ttl of the server's own leases; 0 means 15 s.
	TTL time.Duration

	// MaxWait is how long a request waits for the clock or a grant; 0 means
	// a second.
	MaxWait time.Duration

	// Label is what people see as the holder of the server's nodes; ""
	// means the host's name.
	Label string

	// Advertise is the URL at which other servers reach this one; "" means
	// that they do not.
	Advertise string

	// PublicKey returns what [KeyOf] says of the certificate that the
	// service answers with; "" where it has none. Nil means the same.
	PublicKey func() string

	// Version is the program's, for the list of servers.
	Version string

	// Keys returns the secrets of an encrypted namespace, oldest first. Nil
	// means that there are none.
	Keys func(namespace string) ([]*snowfence.Secret, error)

	// HandOut gives the secrets of encrypted namespaces to holders of
	// leases in them. Otherwise only the server makes and decodes their
	// IDs.
	HandOut bool

	// Spaces bounds how many namespaces are kept open; 0 means 1000. Beyond
	// it, requests for others fail.
	Spaces int

	// Sequences bounds how many sequences are kept open; 0 means 10,000.
	// Beyond it, a sequence that was unused for a minute is closed for
	// another.
	Sequences int

	// Direct is the store without store.Group, for sequences: leases of the
	// same round trip would wait for a row that another transaction has
	// locked. Nil means the store.
	Direct store.Store

	// Unit leases the units of an agent, which hands out their nodes and no
	// others. Its store has only the namespace. Nil is for servers, which
	// lease from the store.
	Unit lessor.Open

	// Connections is how many calls Direct carries out at a time; 0 means
	// as many as there are. Sequences leave some of them to leases.
	Connections int

	// Logger is told what happens; nil means silence.
	Logger *slog.Logger
}

// Service makes IDs and keeps leases for callers. All methods are safe for
// concurrent use.
type Service struct {
	store  store.Store
	counts store.Store // for sequences
	opts   Options
	id     string // of this server among those over the store
	now    func() time.Time

	ready atomic.Pointer[map[string]*Space] // what the fast path reads; replaced, never changed
	mu    sync.Mutex                        // guards what follows, and is never held while the store is asked
	all   map[string]*Space
	tally map[string]*tally // of namespaces that were open, by name
	ended bool

	sequences sequences
	peers     peers
	renewals  renewals
	lastWrite atomic.Pointer[lastWrite] // nil before the server has a record

	room      shares // of requests and answers in progress, in bytes
	lists     struct{ namespaces, sequences, servers listed }
	buffers   sync.Pool       // of *[]snowfence.ID, for such batches
	life      context.Context // ends with the service
	endLife   context.CancelFunc
	watches   watches
	meters    [wires]Meter
	leaseLog  throttle                     // lines about leases of clients
	readiness atomic.Pointer[func() error] // see SetReady

	// Draw makes a picture of a view for the dashboard: once, for all
	// watchers. before is nil for the first one. Set it before there are
	// requests; nil means that there are no pictures.
	Draw func(v, before *View) any
}

// New returns a service over a store, which the caller closes after the
// service. Wrap the store with store.Group first, because callers arrive
// together.
func New(st store.Store, o Options) *Service {
	o.Spaces = cmp.Or(o.Spaces, 1000)
	o.Sequences = cmp.Or(o.Sequences, 10_000)
	if o.PublicKey == nil {
		o.PublicKey = func() string { return "" }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Label == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown" // only a label
		}
		o.Label = fmt.Sprintf("server %s/%d", host[:min(len(host), 80)], os.Getpid())
	}
	s := &Service{
		store: st, opts: o, id: rand.Text(), now: time.Now, all: map[string]*Space{},
		tally:     map[string]*tally{},
		sequences: newSequences(),
	}
	s.peers.init()
	if s.counts = st; o.Direct != nil {
		s.counts = boundedStore(o.Direct, o.Connections)
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.watches.all = map[string]*Watched{}
	s.ready.Store(&map[string]*Space{})
	return s
}

// Label is what people see as the holder of this server's nodes.
func (s *Service) Label() string { return s.opts.Label }

// Store returns the store.
func (s *Service) Store() store.Store { return s.store }

// Space returns the namespace of a name. It reads its record from the store
// at the first use, and makes no lease before the first ID.
func (s *Service) Space(ctx context.Context, name string) (*Space, error) {
	if sp := (*s.ready.Load())[name]; sp != nil && sp.isCurrent() {
		return sp, nil
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	sp, err := s.openSpace(ctx, name)
	if sp != nil && sp.stale.Load() { // its layout was changed
		sp, err = s.openSpace(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return sp, nil
}

// SpaceFor is Space for a caller with a right in it. The request counts as
// n IDs.
func (s *Service) SpaceFor(ctx context.Context, id *Identity, v Verb, name string, n int64) (*Space, error) {
	if err := id.Authorize(v, name, n); err != nil {
		return nil, err
	}
	return s.Space(ctx, name)
}

// storeTimeout bounds the store's part of one request, for callers without
// a limit of their own.
const storeTimeout = 10 * time.Second

var errStoreTimeout = fmt.Errorf("the store did not answer in %v: %w", storeTimeout, context.DeadlineExceeded)

func withStoreTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, storeTimeout, errStoreTimeout)
}

func (s *Service) openSpace(ctx context.Context, name string) (*Space, error) {
	s.mu.Lock()
	sp := s.all[name]
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, ErrStopping
	case sp != nil && !sp.stale.Load():
		s.mu.Unlock()
		return sp, sp.loadNamespace(ctx)
	}
	s.mu.Unlock()
	// It is added only when it is known to exist, so that wrong names cost
	// no memory.
	sp = &Space{Name: name, service: s, openTurn: make(chan struct{}, 1)}
	if err := sp.loadNamespace(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.all[name]; other != nil && !other.stale.Load() {
		return other, nil
	}
	if s.ended {
		return nil, ErrStopping
	}
	if len(s.all) >= s.opts.Spaces && !s.evictOne() {
		return nil, Errorf(TooMuch, "the server makes IDs for %d namespaces, its limit: ask another one, or raise "+
			"the limit", s.opts.Spaces)
	}
	over := lease.Serve(s.store, sp.Scheme(),
		&lease.Options{Logger: store.Warnings(s.opts.Logger)})
	sp.lessor = lessor.New(s.id, sp.unit.Load(), sp.openUnit, nodeStore{over, s}, sp.lostUnit)
	if sp.tally = s.tally[name]; sp.tally == nil {
		sp.tally = &tally{}
		s.tally[name] = sp.tally
	}
	s.all[name] = sp
	s.publishSpaces()
	return sp, nil
}

// evictOne makes room by dropping a namespace that was looked at only, and
// reports whether there was one. mu is held.
func (s *Service) evictOne() bool {
	for name, sp := range s.all {
		select {
		case sp.openTurn <- struct{}{}:
			_, sublet := sp.lessor.Count()
			idle := sp.lease == nil && sublet == 0
			if idle {
				sp.stale.Store(true) // before anybody opens a lease in it
			}
			<-sp.openTurn
			if idle {
				delete(s.all, name)
				sp.endLessor()
				if sp.Made.Load()+sp.Waits.Load() == 0 {
					delete(s.tally, name)
				}
				return true
			}
		default: // it is being opened
		}
	}
	return false
}

// publishSpaces makes the namespaces visible to the fast path. mu is held.
func (s *Service) publishSpaces() {
	view := make(map[string]*Space, len(s.all))
	for name, sp := range s.all {
		view[name] = sp
	}
	s.ready.Store(&view)
}

// forgetSpace drops a namespace after its lease has ended: it was deleted,
// or has another layout now. The next request opens it anew.
func (s *Service) forgetSpace(sp *Space) {
	if !sp.stale.Swap(true) {
		sp.endLessor()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[sp.Name] == sp {
		delete(s.all, sp.Name)
		s.publishSpaces()
	}
}

// Spaces returns the open namespaces in the order of their names.
func (s *Service) Spaces() []*Space {
	view := *s.ready.Load()
	out := make([]*Space, 0, len(view))
	for _, sp := range view {
		out = append(out, sp)
	}
	slices.SortFunc(out, func(a, b *Space) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Moved returns the namespaces that were moved to another store, which
// ended their leases.
func (s *Service) Moved() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tally {
		if t.moved.Load() {
			out = append(out, name)
		}
	}
	return out
}

// Ping asks the store for something small. The error says why it is
// unreachable.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Get(ctx, []store.Key{{Namespace: "default", Node: store.NamespaceNode}})
	return err
}

// Close ends all generators and sequences, and gives nodes and numbers
// back, as far as the store answers until ctx ends. Requests fail from then
// on.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	spaces := s.all
	s.all = map[string]*Space{}
	s.publishSpaces()
	s.mu.Unlock()
	s.watches.mu.Lock() // so that no reader begins while the last ones are waited for
	s.endLife()
	s.watches.mu.Unlock()
	defer s.watches.wait.Wait()
	errs := make(chan error, len(spaces)+1)
	go func() { errs <- s.closeSequences(ctx) }()
	for _, sp := range spaces {
		go func() { errs <- sp.giveNodesBack(ctx) }()
	}
	var all []error
	for range len(spaces) + 1 {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
