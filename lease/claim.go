package lease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// setup is what a lease is for. None of it changes.
type setup struct {
	st     Store
	name   string // of the namespace
	scheme *snowfence.Scheme
	opts   Options
	ticks  ticks
	world  world.World
}

func newSetup(w world.World, st Store, namespace string, s *snowfence.Scheme, opts Options) *setup {
	return &setup{st, namespace, s, opts, ticks{s.Layout(), s.MaxTick(), opts.TTL}, w}
}

// pin has the store keep open what a lease in it needs.
func pin(ctx context.Context, st Store, namespace string) (unpin func(), err error) {
	if unpin, err = st.Pin(ctx); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	return unpin, nil
}

// claim is one holder's protocol with the store, and nothing more.
// It starts no goroutine and has no mutex: one call at a time.
// docs/prove/argument.md follows its rules through the files: grant.go, acquire.go, renew.go,
// lost.go, rollback.go, release.go.
//
// Each operation has one of three results:
//   - Granted: the grant may be used.
//   - Lost, a [lostError]: nothing that was granted before may be used any more.
//   - Unknown, any other error: what was granted before may be used to its end.
type claim struct {
	*setup
	secret  string // shown to a server; see holderOf
	who     string // hash of secret: the identity of this holder
	attempt string // of a ticket: its nonces begin with it

	held    *hold  // nil when nothing is held
	own     []Key  // held last, and perhaps still
	suspect *int64 // generation that the store rolled back behind; nil if it did not
	reached int64  // highest tick of any grant of this claim

	lostHold     *hold    // lost to another holder or to a rollback, not known yet to which
	foundInstead []Record // what stood in place of lostHold; nil when that was not read

	watched bool     // a server keeps the store from holders; see [Holders]
	seen    []Record // over a server: what it last showed of our records, signed
	refused map[int64]error
	taken   *TakenError // the holders, as the last scan saw them; nil without one
	scanned time.Time   // when
	offers  *offers     // nodes for leases that are opened together; nil for one opened alone
	slot    time.Time   // when such a lease is renewed; zero for one opened alone
	kept    atomic.Pointer[kept]
	events  []Event // reported, and not announced yet
}

// hold is what the store is known to keep of ours.
type hold struct {
	records    []Record // of the block, as last acknowledged or adopted
	unanswered map[string]bool
	generation int64 // of the namespace
	floor      int64 // of the namespace when the grant was computed
	confirmed  bool  // a grant counted: the floor is compared no more
	from       int64 // of the grant
	pending    bool  // it is not known whether the acquisition was written
}

// kept is the highest until that we sent for a node.
// The store keeps the node for us up to that tick, not longer.
type kept struct{ node, until int64 }

func newClaim(s *setup) *claim {
	c := &claim{setup: s, refused: map[int64]error{}}
	c.secret = s.world.Text()
	c.who = hashOf(c.secret)
	return c
}

// A record names as its holder the hash of a secret and the first tick that it was
// granted: "HASH.TICK". Over a server ([Holders]) each write shows the secret in
// Record.Data. The server does not pass it on, and no store keeps it. So the
// server knows who writes. Nobody can write in the name of another holder, and
// only the holder lowers the end of its grant, when it gives the node back.

// holderOf is the Holder of a record that the claim
// acquires, with ticks from the given one on.
func (c *claim) holderOf(from int64) string { return c.who + "." + strconv.FormatInt(from, 10) }

// mine reports whether a record names this claim as its holder. Every
// claim has an identity, so a record without a holder is not mine.
func (c *claim) mine(r Record) bool {
	hash, _, _ := strings.Cut(r.Holder, ".")
	return hash == c.who
}

// hashOf returns the identity of a secret: 128 bits of its
// SHA-256, so that nobody finds another secret for it.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// startOf returns who a holder is and the first tick that it
// was granted. It returns false if the text does not say so.
func startOf(holder string) (hash string, tick int64, ok bool) {
	hash, text, _ := strings.Cut(holder, ".")
	tick, err := strconv.ParseInt(text, 10, 64) // no dot leaves no text, which is no number
	return hash, tick, err == nil
}

func keys(rs []Record) []Key {
	out := make([]Key, len(rs))
	for i, r := range rs {
		out[i] = r.Key
	}
	return out
}

// register makes sure that the namespace exists, is for this
// scheme, and knows how far ahead this lease may write.
func (c *claim) register(ctx context.Context) error {
	if c.opts.Create {
		_, err := readNamespace(ctx, c.st, c.name)
		if errors.Is(err, ErrNoNamespace) {
			_, err = CreateNamespace(ctx, c.st, c.name, c.scheme, nil)
		}
		if err != nil {
			return err // the next read would ask for a namespace that we may create
		}
	}
	_, err := c.usable(ctx)
	return err
}

// usable returns the namespace if it gives grants to this lease: active, for this
// scheme, in the store it was made in. It adds to the namespace a longer ttl, new
// keys, and the identity of a store that was moved, which raises the floor.
func (c *claim) usable(ctx context.Context) (Namespace, error) {
	for asked := 0; ; {
		ns, err := readNamespace(ctx, c.st, c.name)
		if err != nil {
			return Namespace{}, err
		}
		if err := ns.usable(c.scheme); err != nil {
			return Namespace{}, err
		}
		id, err := c.st.Identity(ctx, c.name)
		if err != nil {
			return Namespace{}, fmt.Errorf("lease: reading the store's identity: %w", err)
		}
		if n := c.opts.Node; n == nil && (ns.Last-ns.First+1 < int64(c.opts.Nodes)) {
			return Namespace{}, invalidf("lease: namespace %q has %d leasable nodes, fewer than a block of %d",
				c.name, ns.Last-ns.First+1, c.opts.Nodes)
		}
		c.watched = ns.watched
		keys, added, err := ns.rotated(c.scheme, false)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.watched && (id != ns.Identity || ns.LongestTTL < c.reach()):
			if asked++; asked > maxAsked {
				return Namespace{}, fmt.Errorf("lease: namespace %q is for the store %q, "+
					"and the server says that it is %q: ask again", c.name, ns.Identity, id)
			}
			if err := c.ask(ctx, ns, nil); err != nil {
				return Namespace{}, err
			}
			continue
		case id != ns.Identity:
			c.report(EventReplaced, nil, "was", ns.Identity, "is", id)
			if err := c.raiseFloor(ctx, func(ns Namespace, id string) bool { return ns.Identity == id }); err != nil {
				return Namespace{}, err
			}
			continue
		case ns.watched && added:
			return Namespace{}, fmt.Errorf("lease: namespace %q: %w: "+
				"the server does not know the last secret: give it that one first", c.name, snowfence.ErrKey)
		case !added && ns.LongestTTL >= c.reach():
			return ns, nil
		}
		ns.Keys, ns.LongestTTL = keys, max(ns.LongestTTL, c.reach())
		ns, err = ns.write(ctx, c.st)
		if !errors.Is(err, ErrLost) {
			return ns, err
		}
	}
}

// reach is that of this lease's options.
func (c *claim) reach() time.Duration { return reach(c.opts.TTL, c.opts.MaxSkew) }

const (
	// maxAsked is how often a lease asks about one thing before it
	// gives up. Others may write the namespace at the same time.
	maxAsked = 10

	// maxEvidence is how many records a question
	// may show. One that is gone is enough.
	maxEvidence = 8
)

// ask has the server look at the namespace.
// It writes what it found into its record.
func (c *claim) ask(ctx context.Context, ns Namespace, seen []Record) error {
	q := question{Reach: c.reach()}
	for _, r := range seen[:min(len(seen), maxEvidence)] {
		q.Gone = append(q.Gone, evidence{r.Node, r.Nonce, r.Revision, r.Generation, r.Until, r.Data})
	}
	data, err := json.Marshal(asked{&q})
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", c.name, err)
	}
	w := Write{Old: ns.record.Nonce, New: Record{
		Key: ns.record.Key, Nonce: c.world.Text(), Generation: ns.Generation,
		Data: string(data),
	}}
	err = c.st.Swap(ctx, []Write{w})[0]
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("lease: asking the server to look at namespace %q: %w", c.name, err)
	}
	return nil
}

// showFirst moves the latest record of a node to the front of what a question shows.
func (c *claim) showFirst(k Key) {
	for i, r := range c.seen {
		if r.Key == k {
			c.seen[0], c.seen[i] = r, c.seen[0]
			return
		}
	}
}
