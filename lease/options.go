package lease

import (
	"context"
	"log/slog"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
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
	// [DefaultTTL], 15 s, or that MaxTTL if it is less.
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

	// StickyFile is the path of a local file that remembers the last node.
	// The next lease with this file prefers that node, under any Label. It
	// is only a hint. A file that is missing, damaged or of another
	// namespace is ignored. A file that cannot be written is logged. Give
	// each process its own. "" means none. It is for leases without a fixed
	// Node.
	StickyFile string

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

	// Check may refuse a node before it is leased. An
	// error is remembered for the node. Nil refuses none.
	Check func(ctx context.Context, node int64) error

	// Time replaces the system's clock in deciding which ticks to lease,
	// for tests. The generator then needs the same one. Nil means the
	// system's. Like a generator, the lease ignores steps back of the
	// clock, until the store's clock shows that it was ahead before.
	// Layouts with rollback bits are the exception: their IDs have the time
	// of the clock. The pace of renewals always follows the system.
	Time  snowfence.TimeSource
	clock *clock.Clock // of Time

	// Logger logs what happens to the lease. Nil logs warnings and errors
	// to slog.Default.
	Logger *slog.Logger

	// Events is called when there is trouble, soon after the log line, and
	// without a lock. If the lease is lost, the generator is sealed first.
	// The lease does not wait for Events to return: calls may overlap, and
	// may come after Close. Nil means no calls.
	Events func(Event)
}

// longestLabel is the length of a label that every store keeps.
const longestLabel = 128

// normal returns the options with their defaults, checked.
func (o *Options) normal(s *snowfence.Scheme) (Options, error) {
	var n Options
	if o != nil {
		n = *o
	}
	if n.Nodes == 0 {
		n.Nodes = 1
	}
	if n.Idle == 0 {
		n.Idle = time.Hour
	}
	if n.Idle < 0 {
		n.Idle = math.MaxInt64
	}
	if n.Label == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown" // only a label
		}
		n.Label = host[:min(len(host), 100)] + "/" + strconv.Itoa(os.Getpid())
	}
	if n.clock == nil {
		n.clock = clockOf(n.Time, s)
	}
	if n.Logger == nil {
		n.Logger = store.Warnings(slog.Default())
	}
	switch k := int64(n.Nodes); {
	case n.TTL != 0 && (n.TTL < scope.MinTTL || n.TTL > scope.MaxTTL):
		return n, fault.Invalidf("lease: Options.TTL is %v; it must be from %v to %v", n.TTL, scope.MinTTL,
			scope.MaxTTL)
	case n.MaxSkew < 0:
		return n, fault.Invalidf("lease: Options.MaxSkew is %v; it must be positive", n.MaxSkew)
	case len(n.Label) > longestLabel:
		return n, fault.Invalidf("lease: Options.Label has %d bytes, more than 128", len(n.Label))
	case !store.Plain(n.Label):
		return n, fault.Invalidf("lease: Options.Label %q is not UTF-8, or has control characters: leave them out",
			n.Label)
	case k < 0 || k&(k-1) != 0 || k > s.Nodes():
		return n, fault.Invalidf("lease: Options.Nodes is %d; it must be a power of two, at most the %d nodes of the "+
			"layout", k, s.Nodes())
	case n.Node != nil && (*n.Node < 0 || *n.Node > s.Nodes()-k):
		return n, fault.Invalidf("lease: Options.Node is %d; the layout has nodes 0 to %d", *n.Node, s.Nodes()-1)
	case n.Node != nil && *n.Node%k != 0:
		return n, fault.Invalidf("lease: Options.Node is %d; a block of %d nodes starts at a multiple of %d",
			*n.Node, k, k)
	case n.Within != snowfence.NodeRange{} &&
		(n.Within.From < 0 || n.Within.From >= n.Within.Until || n.Within.Until > s.Nodes()):
		return n, fault.Invalidf("lease: Options.Within is nodes %d to %d; the layout has nodes 0 to %d", n.Within.From,
			n.Within.Until-1, s.Nodes()-1)
	case n.Node != nil && (n.Within != snowfence.NodeRange{} || n.StickyFile != ""):
		return n, fault.Invalidf("lease: Options.Within and Options.StickyFile choose a free node; Options.Node is " +
			"one already: leave one of them out")
	case n.Guard && n.Node == nil:
		return n, fault.Invalidf("lease: Options.Guard needs Options.Node")
	}
	return n, nil
}

// clockOf returns the clock of leases of a scheme.
func clockOf(source snowfence.TimeSource, s *snowfence.Scheme) *clock.Clock {
	return clock.Steady(clock.Source(source), s.Layout().Bits(snowfence.FieldRollback) > 0)
}

// creation returns the options of a new namespace: room for this lease.
func (o Options) creation() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{MaxTTL: max(scope.DefaultTTL, o.TTL), MaxSkew: max(scope.DefaultTTL, o.MaxSkew)}
}
