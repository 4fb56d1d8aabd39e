// Package claim is one holder's protocol with a store or with a server, and
// the server's side of it. Package lease says the rules, and keeps a claim
// for a generator. A claim starts no goroutine and has no lock. testdata
// has a script for each rule, and a README of their words. Ten to begin
// with: acquire, renew, confirm, silent, doubt, lapse, give, block,
// generation and wait.
package claim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Claim is one holder's protocol with a store ([storeClaim]) or a server
// ([guestClaim]), and nothing more. It starts no goroutine and has no
// mutex: one call at a time.
//
// Each call has one of three results:
//   - Done: the returned grant may be used.
//   - Lost ([IsLost]): nothing that was granted before may be used any
//     more.
//   - Unknown, any other error: the earlier grant may be used to its end.
type Claim interface {
	// Open acquires the first grant, and waits for a free node if it may.
	Open(ctx context.Context) (snowfence.Grant, error)

	// Next acquires a grant, renews the hold, or settles writes without an
	// answer.
	Next(ctx context.Context) (snowfence.Grant, error)

	// GiveBack ends the hold. o is the sealed grant, nil if that is not
	// known. It does nothing if the machine was copied: the copy may use
	// more of the grant, or any of it.
	GiveBack(ctx context.Context, o *Owed) error

	// Forget ends the hold as a loss does, and takes another identity.
	// Writes without an answer count as another holder's.
	Forget()
}

// Owed is a grant whose use has ended, to be given back while the lease has
// its hold. All its IDs have ticks below Used.
//
// Invariant: nothing of the grant is handed out after Owed was set. Node
// and From tell it from all others of the lease that were used: the next
// one of the node starts at Used or later.
type Owed struct {
	Node, From int64
	Used       int64
}

// A lost swap ([store.ErrLost]) is not yet a lost grant ([IsLost]): the
// sender decides. For a renewal it is one. Whether the store was rolled
// back is found out afterwards, in rollback.go.

var errLost = errors.New("the grant may not be used any more")

// Lost says that the grant may not be used any more, and why.
func Lost(cause error) error { return fault.Mark(cause, errLost) }

// IsLost reports whether the grant may not be used any more.
func IsLost(err error) bool { return errors.Is(err, errLost) }

// storeClaim is a claim over a store. proceed looks at the clock, and
// settles writes without an answer. Then renew writes the records, reads
// the namespace, and confirms the grant. docs/prove/argument.md follows the
// rules through the files: grant.go, acquire.go, renew.go, confirm.go,
// release.go.
type storeClaim struct {
	*Setup
	st       store.Store
	unit     int64    // of the namespace
	who      string   // random: the identity of this holder
	nonces   []string // of its last writes
	newest   string   // of them; "" before the first
	attempt  string   // of a ticket: its nonces begin with it
	earlier  []string // attempts of its holder, which may still come in
	onlyFree bool     // takes no node from a holder
	wishes   []int64  // nodes to try first

	last       *answer.Answer // to the last read of the namespace; nil at first
	held       *hold          // nil when nothing is held
	lastBlock  []store.Key    // of the last grant; nil before the first
	lossAfter  *int64         // generation after which the store lost writes: the floor is raised; nil if it did not
	identity   string         // of the store at the last confirmation
	lossProven bool           // the store lost an acknowledged write, and gets another identity
	reached    int64          // end of the highest grant that this claim had

	lostHold     *hold          // lost to another holder or to a rollback, not known yet to which
	foundInstead []store.Record // what stood in its places, and the namespace; nil when that was not read

	taken    *TakenError // the holders, as the last scan saw them; nil without one
	scanTime time.Time   // of it
}

// hold is our part of the store, as far as it is known.
type hold struct {
	records    []store.Record // of the block's units, the base of the next write; while pending, as sent
	acked      []int64        // revision of each that was acknowledged; 0 if none was
	unanswered map[string]bool
	generation int64         // of the namespace
	floor      int64         // of the namespace when the grant was computed
	confirmed  bool          // a grant counted: the floor is compared no more
	copyUses   bool          // an earlier attempt got it, and a copy of the holder may use it: until never falls
	from       int64         // of the grant
	until      int64         // up to where it may be used: the highest that a confirmation allowed
	pending    bool          // it is not known whether the acquisition was written
	replied    store.Reply   // to the last write
	namespace  *store.Record // read after it in the same round trip; nil if it was not
}

// OverStore returns a claim over a store that holds nothing.
func OverStore(s *Setup, st store.Store) Claim { return newClaim(s, st) }

func newClaim(s *Setup, st store.Store) *storeClaim {
	return &storeClaim{Setup: s, st: st, unit: 1, who: s.World.Text()}
}

// Forget implements [Claim].
func (c *storeClaim) Forget() {
	if h := c.held; h != nil && !h.pending {
		c.lostHold, c.foundInstead = h, nil
	}
	c.held, c.who, c.nonces, c.newest = nil, c.World.Text(), nil, ""
	c.kept.Store(nil)
}

// namespaceKey is the key of the record of the namespace.
func (c *storeClaim) namespaceKey() store.Key {
	return store.Key{Namespace: c.Name, Node: store.NamespaceNode}
}

// nodes returns how many nodes the records of a hold stand for.
func (c *storeClaim) nodes(h *hold) int64 { return int64(len(h.records)) * c.unit }

// perBlock returns how many records a block has.
func (c *storeClaim) perBlock() int { return c.Nodes / int(c.unit) }

// holderOf is the Holder of a record that the claim acquires: its identity,
// and the first tick.
func (c *storeClaim) holderOf(from int64) string { return c.who + "." + strconv.FormatInt(from, 10) }

// noteReach remembers the highest end of this claim's grants.
func (c *storeClaim) noteReach(from, until int64) {
	if until > from {
		c.reached = max(c.reached, until)
	}
}

// mine reports whether a record has this claim as its holder, by a write of
// its own. A copy of the claim has its identity, and is another holder: or
// each would take the node from the other for ever.
func (c *storeClaim) mine(r store.Record) bool {
	return r.Holder != "" && slices.Contains(c.nonces, r.Nonce)
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
