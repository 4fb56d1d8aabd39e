package lease

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// setup has the purpose of a lease, and the facts beside its claim.
type setup struct {
	settings
	name   string // of the namespace
	scheme *snowfence.Scheme
	ticks  ticks
	world  world.World
	report report

	machine atomic.Pointer[world.Machine] // that the claim's identity was made on
	kept    atomic.Pointer[kept]
	given   atomic.Int64 // the ttl that a server gave last, in ns; 0 over a store
}

// report tells what happened: its kind is one of the Event constants. The
// attributes are for a log.
type report func(kind string, cause error, attrs ...any)

func newSetup(w world.World, namespace string, s *snowfence.Scheme, o settings, tell report) *setup {
	t := &setup{
		settings: o, name: namespace, scheme: s, ticks: ticks{s.Layout(), s.MaxTick(), o.TTL}, world: w, report: tell,
	}
	m := w.Machine()
	t.machine.Store(&m)
	return t
}

// copied reports whether a copy of this machine may have the same claim.
func (s *setup) copied() bool { return s.machine.Load().Copied() }

// claim is one holder's protocol with a store ([storeClaim]) or a server
// ([serverClaim]), and nothing more. It starts no goroutine and has no
// mutex: one call at a time.
//
// Each call has one of three results:
//   - Done: a grant that next returns may be used.
//   - Lost, a [lostError]: nothing that was granted before may be used any
//     more.
//   - Unknown, any other error: the earlier grant may be used to its end.
type claim interface {
	// next acquires a grant, renews the hold, or settles writes without an
	// answer.
	next(ctx context.Context) (snowfence.Grant, error)

	// giveBack ends the hold. o is the sealed grant, nil if that is not
	// known. It does nothing if the machine was copied: the copy may use
	// more of the grant, or any of it.
	giveBack(ctx context.Context, o *owed) error

	// forget ends the hold as a loss does, and takes another identity.
	// Writes without an answer count as another holder's.
	forget()
}

// kept is the highest until that was sent for a node, −1 if a server was to
// choose one. The node is kept for us up to that tick, not longer.
type kept struct{ node, until int64 }

func (k *kept) String() string {
	if k.node < 0 {
		return "a node"
	}
	return fmt.Sprintf("node %d", k.node)
}

// pin has the store keep its files open for a lease.
func pin(ctx context.Context, st store.Store, namespace string) (unpin func(), err error) {
	if unpin, err = st.Pin(ctx); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	return unpin, nil
}

// noteSend notes how long a node is kept for us if the
// coming write arrives. It notes before it looks at ctx, so
// the goroutine that ended ctx and reads kept knows of every write.
func (s *setup) noteSend(ctx context.Context, node, until int64) error {
	before := s.kept.Load()
	if before == nil || until > before.until {
		s.kept.Store(&kept{node, until})
	}
	if err := ctx.Err(); err != nil {
		s.kept.Store(before)
		return err
	}
	return nil
}

// storeClaim is a claim over a store.
// docs/prove/argument.md follows its rules through the files: grant.go,
// acquire.go, renew.go, lost.go, rollback.go, release.go.
type storeClaim struct {
	*setup
	st      store.Store
	unit    int64    // of the namespace
	who     string   // random: the identity of this holder
	wrote   []string // nonces of its last writes
	attempt string   // of a ticket: its nonces begin with it
	free    bool     // takes no node over
	prefer  []int64

	held     *hold       // nil when nothing is held
	own      []store.Key // held last, and perhaps still
	suspect  *int64      // generation that the store rolled back behind; nil if it did not
	identity string      // of the store at the last confirmation
	proven   bool        // it lost a write that it had acknowledged to this claim
	reached  int64       // highest tick of the grants that this claim had

	lostHold     *hold          // lost to another holder or to a rollback, not known yet to which
	foundInstead []store.Record // what stood in place of lostHold; nil when that was not read

	refused map[int64]error
	taken   *TakenError // the holders, as the last scan saw them; nil without one
	scanned time.Time   // when
}

// hold is our part of the store, as far as it is known.
type hold struct {
	records    []store.Record // of the block's units, as last acknowledged or adopted
	acked      []int64        // revision of each that was acknowledged; 0 if none was
	unanswered map[string]bool
	generation int64 // of the namespace
	floor      int64 // of the namespace when the grant was computed
	confirmed  bool  // a grant counted: the floor is compared no more
	found      bool  // by an earlier attempt, whose answer a copy of the holder may have
	from       int64 // of the grant
	until      int64 // up to where it may be used: the highest that a confirmation allowed
	pending    bool  // it is not known whether the acquisition was written
}

func newClaim(s *setup, st store.Store) *storeClaim {
	return &storeClaim{
		setup: s, st: st, unit: 1, who: s.world.Text(), refused: map[int64]error{},
	}
}

// nodes returns how many nodes the records of a hold stand for.
func (c *storeClaim) nodes(h *hold) int64 { return int64(len(h.records)) * c.unit }

// perBlock returns how many records a block has.
func (c *storeClaim) perBlock() int { return c.Nodes / int(c.unit) }

// holderOf is the Holder of a record that the claim acquires, with ticks
// from the given one on: no two acquisitions have the same.
func (c *storeClaim) holderOf(from int64) string { return c.who + "." + strconv.FormatInt(from, 10) }

// mine reports whether a record has this claim as its holder, by a write of
// its own. A copy of the claim has its identity, and is another holder: or
// each would take the node from the other for ever.
func (c *storeClaim) mine(r store.Record) bool {
	return r.Holder != "" && slices.Contains(c.wrote, r.Nonce)
}

// startOf returns a holder's name and the first tick of its grant.
func startOf(holder string) (who string, tick int64) {
	who, text, _ := strings.Cut(holder, ".")
	tick, _ = strconv.ParseInt(text, 10, 64) // as holderOf wrote it
	return who, tick
}

func keys(rs []store.Record) []store.Key {
	out := make([]store.Key, len(rs))
	for i, r := range rs {
		out[i] = r.Key
	}
	return out
}

// settle fills the options: the ttl and the skew of the namespace where
// they name none, and a whole unit where they ask for less. It runs at the
// first use of a lease, before its keeper. It refuses what the namespace
// does not allow.
func (c *storeClaim) settle(ns scope.Namespace) error {
	ttl, skew, err := fit(ns, c.settings)
	if c.held == nil && c.own == nil {
		c.unit, c.Nodes = ns.Unit, max(c.Nodes, int(ns.Unit))
	}
	if c.TTL == 0 || c.MaxSkew == 0 {
		c.TTL, c.MaxSkew, c.ticks.ttl = ttl, skew, ttl
	}
	return err
}

// owed is a grant that is not used any more, to be given back
// while the lease has its hold. All its IDs have ticks below used.
//
// Invariant: nothing of the grant is handed out after owed was set (spent).
// Node and from tell it from all others of the lease: each grant of a node
// starts above those before.
type owed struct {
	node, from int64
	used       int64
}

// backoff returns the wait after failures in a row: short at first, because
// callers wait.
func (s *setup) backoff(failures int) time.Duration {
	d := min(10*time.Millisecond<<min(failures, 8), time.Second, s.TTL/3)
	return d/2 + s.random(d/2+1)
}

func (s *setup) random(n time.Duration) time.Duration {
	return time.Duration(world.Rand(s.world).Int64N(int64(n)))
}
