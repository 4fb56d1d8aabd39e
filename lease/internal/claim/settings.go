package claim

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Settings say what a claim asks for, and with what it works. The fields
// are as in lease.Options.
type Settings struct {
	TTL        time.Duration
	MaxSkew    time.Duration
	Node       *int64
	Guard      bool
	Within     snowfence.NodeRange
	StickyFile string
	Nodes      int
	Label      string
	Wait       bool
	Create     bool
	Check      func(ctx context.Context, node int64) error
	Clock      *clock.Clock // by which ticks are leased
	Logger     *slog.Logger
}

// longestLabel is the length of a label that every store keeps.
const longestLabel = 128

// Normal returns the settings with their defaults, checked.
func (n Settings) Normal(s *snowfence.Scheme) (Settings, error) {
	if n.Nodes == 0 {
		n.Nodes = 1
	}
	if n.Label == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown" // only a label
		}
		n.Label = host[:min(len(host), 100)] + "/" + strconv.Itoa(os.Getpid())
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

// ClockOf returns the clock of leases of a scheme; nil stands for any.
func ClockOf(source snowfence.TimeSource, s *snowfence.Scheme) *clock.Clock {
	return clock.Steady(clock.Source(source), s != nil && s.Layout().Bits(snowfence.FieldRollback) > 0)
}

// creation returns the options of a new namespace: room for this lease.
func (n Settings) creation() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{MaxTTL: max(scope.DefaultTTL, n.TTL), MaxSkew: max(scope.DefaultTTL, n.MaxSkew)}
}
