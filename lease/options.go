package lease

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says how a lease is held, and what [Generator] and Open of each
// store make. Nil uses the defaults.
type Options struct {
	// Namespace, Layout, Secrets, Lead, Spread and MaxWait are for
	// functions that return a generator. [Open] ignores them: it has
	// parameters for namespace and scheme. Namespace is the name within
	// which IDs are unique; "" means [DefaultNamespace].
	Namespace string

	// Layout is the layout that the namespace must have. The zero value
	// means the layout in the store. For a new namespace it means
	// snowfence.Default.
	Layout snowfence.Layout

	// Secrets are for an encrypted layout, as snowfence.NewScheme takes
	// them.
	Secrets []*snowfence.Secret

	// Lead is how many ticks IDs may run ahead of the clock:
	// snowfence.Config.Lead.
	Lead int64

	// Spread makes id % n even where few IDs are made:
	// snowfence.Config.Spread.
	Spread int64

	// MaxWait is how long Next and Fill wait for a tick or a grant:
	// snowfence.Config.MaxWait.
	MaxWait time.Duration

	// TTL is how far ahead of the clock grants are written. So it is how
	// long IDs are made while the store is unreachable, and how long a node
	// stays taken after a crash. A lease renews every third of it. It is at
	// least 10 ms, and at most the namespace's MaxTTL. 0 means
	// 15 s, or that MaxTTL if it is less.
	TTL time.Duration

	// Node is the one node to lease, for example from
	// snowfence.Scheme.Node. nil means any free one. The lease takes over a
	// node that has a holder, which is safe: the grant starts where the
	// holder's ends, and the holder cannot renew.
	Node *int64

	// Guard prevents taking over Node if a holder with another Label has
	// it. The error is a [TakenError].
	Guard bool

	// Within limits the lease to some of the namespace's nodes, such as the
	// workers of one datacenter (snowfence.Scheme.NodesWith). The zero
	// value means all. It is for leases without a fixed Node.
	Within snowfence.NodeRange

	// Nodes is the length of a block of contiguous nodes to lease together.
	// It is a power of two, and blocks start at a multiple of it. 0 means
	// 1.
	Nodes int

	// Label tells people which process holds the node, in at most 128
	// bytes. A lease prefers one of 16 nodes that its label points to,
	// others in each store. Leases may share a label: each also has a
	// random identity. "" means host name and process ID.
	Label string

	// Wait makes Open wait until its ctx ends, while all nodes are taken or
	// the guarded one is held. Without Wait, Open returns a [TakenError].
	Wait bool

	// Create makes the namespace on first use, with all nodes leasable.
	// It is meant for a store that belongs to one machine. On shared
	// stores a misspelled name would be a second scope of uniqueness.
	Create bool

	// MaxSkew is how far the clock may be off from the store's clock.
	// If it is further off, the lease is not renewed. It is at most the
	// namespace's MaxSkew. 0 means 15 s, or that MaxSkew if it is less.
	MaxSkew time.Duration

	// Idle is how long a lease is renewed after the last call of Grant.
	// The next call resumes it. 0 means an hour, negative for ever.
	Idle time.Duration

	// Time replaces the system's clock in deciding which ticks to lease,
	// for tests. The generator then needs the same one. Nil means the
	// system's. Like a generator, the lease ignores steps back of the
	// clock, until the store's clock shows that it was ahead before.
	// Layouts with rollback bits are the exception: their IDs have the time
	// of the clock. The pace of renewals always follows the system.
	Time snowfence.TimeSource

	// Logger logs what happens to the lease. Nil logs warnings and errors
	// to slog.Default.
	Logger *slog.Logger

	// Events is called when there is trouble, soon after the log line, and
	// without a lock. If the lease is lost, the generator is sealed first.
	// The lease does not wait for Events to return: calls may overlap, and
	// may come after Close. Nil means no calls.
	Events func(Event)
}

// settings returns the part of the options for a claim, for leases of a
// scheme.
func (o *Options) settings(s *snowfence.Scheme) claim.Settings {
	logger := o.Logger
	logger = cmp.Or(logger, store.Warnings(slog.Default()))
	return claim.Settings{
		TTL: o.TTL, MaxSkew: o.MaxSkew, Node: o.Node, Guard: o.Guard, Within: o.Within,
		Nodes: o.Nodes, Label: o.Label, Wait: o.Wait, Create: o.Create, Clock: claim.ClockOf(o.Time, s),
		Logger: logger,
	}
}

// idle returns how long a lease is renewed after the last call of Grant.
func (o *Options) idle() time.Duration {
	if o.Idle < 0 {
		return math.MaxInt64
	}
	return cmp.Or(o.Idle, time.Hour)
}

// setup returns the setup of a claim, and its reporter.
func (o *Options) setup(
	ctx context.Context, namespace string, s *snowfence.Scheme, n claim.Settings,
) (*claim.Setup, *reporter) {
	w := world.From(ctx)
	r := &reporter{namespace: namespace, world: w, logger: n.Logger, announced: o.Events}
	return claim.NewSetup(w, namespace, s, n, r.report), r
}
