package lease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// pin has the store keep open what it needs while a lease is held in it.
func pin(ctx context.Context, st Store, namespace string) (unpin func(), err error) {
	if unpin, err = st.Pin(ctx); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	return unpin, nil
}

// claim is one holder's protocol with the store, and nothing more: it reads and writes records, and
// remembers what it does not know about them. It starts no goroutine and has no mutex: one call at
// a time. The rules stand in the order of the argument in docs/prove/argument.md: grant.go,
// claim_acquire.go, claim_renew.go, claim_confirm.go, claim_release.go.
//
// Each operation has one of three results. Granted: the grant may be used. Lost, a [lostError]:
// nothing of what was granted before may be used any more. Unknown, any other error: what was
// granted before may be used to its end.
type claim struct {
	*setup
	secret  string // shown to a server; see holderOf
	who     string // hash of secret: the identity of this holder
	attempt string // of a ticket: its nonces begin with it

	held    *hold  // nil when nothing is held
	own     []Key  // held last, and perhaps still
	suspect *int64 // the store rolled back behind this generation: raise the floor first; nil if not
	reached int64  // highest tick of any grant of this claim

	lostHold     *hold    // lost, and not known yet to whom
	foundInstead []Record // what stood in place of lostHold; nil when that was not read

	watched bool     // a server keeps the store from holders; see [Holders]
	seen    []Record // over a server: what it last showed of our records, signed
	refused map[int64]error
	offers  *offers   // nodes for leases that are opened together; nil for one opened alone
	slot    time.Time // when such a lease is renewed; zero for one opened alone
	kept    atomic.Pointer[kept]
	events  []Event // reported, and not announced yet
}

// hold is what the store is known to keep of ours.
type hold struct {
	records    []Record // of the block, as last acknowledged or adopted
	unanswered map[string]bool
	generation int64 // of the namespace
	floor      int64 // of the namespace when the grant was computed
	confirmed  bool  // the floor was the same after the swap: from then on the records alone say what is lost
	from       int64 // of the grant
	pending    bool  // it is not known whether the acquisition was written
}

// kept is the latest end of all that was sent for a node: the store keeps it no longer for us.
type kept struct{ node, until int64 }

func newClaim(s *setup) *claim {
	c := &claim{setup: s, refused: map[int64]error{}}
	c.secret = s.world.Text()
	c.who = hashOf(c.secret)
	return c
}

// lostError says why nothing that was granted may be used any more.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func lost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}

// lose forgets what is held. The caller returns at once, because a loss seals before anything else.
func (c *claim) lose(cause error) error {
	c.held = nil
	return &lostError{cause}
}

// loseHold is lose where the hold was lost to a write of somebody else, or to a store that rolled
// back. met is what stood in its place, and nil if that was not read: [claim.diagnose] tells which.
func (c *claim) loseHold(met []Record, cause error) error {
	c.lostHold, c.foundInstead = c.held, met
	return c.lose(cause)
}

// swap writes the records of a hold and keeps those that the store acknowledged. It
// returns how many were lost to other writes, and why it is not known what became of the
// others.
func (c *claim) swap(ctx context.Context, h *hold, writes []Write) (gone int, unknown error) {
	for i, err := range c.st.Swap(ctx, writes) {
		switch {
		case err == nil:
			h.records[i] = writes[i].New
		case errors.Is(err, ErrLost):
			gone++
		default:
			unknown = err
		}
	}
	return gone, unknown
}

// noteSend notes until when the store keeps a node for this holder if the coming write arrives. It
// notes first and looks at ctx second: whoever ends ctx and then reads kept knows of every write.
func (c *claim) noteSend(ctx context.Context, node, until int64) error {
	before := c.kept.Load()
	if before == nil || until > before.until {
		c.kept.Store(&kept{node, until})
	}
	if err := ctx.Err(); err != nil {
		c.kept.Store(before)
		return err
	}
	return nil
}

// What a record names as its holder is the hash of a secret, and the first tick that it was
// granted: "HASH.TICK". Over a server that keeps the store ([Holders]) each write shows the secret
// in Record.Data, from where it goes no further: no store keeps it. So the server knows who writes.
// Nobody can write in the name of another holder, and the holder alone lowers the end of its grant,
// when it gives the node back.

// holderOf is what a record names that the claim acquires, with ticks from the given one on.
func (c *claim) holderOf(from int64) string { return c.who + "." + strconv.FormatInt(from, 10) }

// mine reports whether a record names this claim as its holder. No claim is without an identity, so
// a record without a holder is not mine.
func (c *claim) mine(r Record) bool {
	hash, _, _ := strings.Cut(r.Holder, ".")
	return hash == c.who
}

// nonce returns a new nonce. That of a ticket begins with the attempt, and over a server all begin
// with the identity, so that nobody else can write the same one again.
func (c *claim) nonce() string {
	n := c.world.Text()
	if c.attempt != "" {
		n = c.attempt + "." + n
	}
	if c.watched {
		n = c.who + "." + n
	}
	return n
}

// proof is what a write shows: the secret over a server, and nothing where the store itself would
// keep it.
func (c *claim) proof() string {
	if c.watched {
		return c.secret
	}
	return ""
}

// hashOf returns the identity that belongs to a secret: 128 bits of its SHA-256, so that nobody
// finds another secret for it.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// startOf returns who a holder is and the first tick that it was granted, and false if the text
// does not say so.
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
