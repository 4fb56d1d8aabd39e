package claim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Setup is the purpose of a claim, and the state that its lease may read
// during a step.
type Setup struct {
	Settings
	Name   string // of the namespace
	Scheme *snowfence.Scheme
	Ticks  Ticks
	World  world.World
	Report Report

	machine atomic.Pointer[world.Machine] // that the claim's identity was made on
	kept    atomic.Pointer[Kept]
	given   atomic.Int64 // the ttl that a server gave last, in ns; 0 over a store
}

// Report tells the user of a claim of an event. The attributes are for a
// log.
type Report func(kind string, cause error, attrs ...any)

// The events of a claim. Package lease gives their meaning.
const (
	RolledBack  = "the store was rolled back"
	Replaced    = "the store is not the one the namespace was made in"
	FloorRaised = "floor raised"
)

// NewSetup returns the setup of a claim that holds nothing, on this
// machine.
func NewSetup(w world.World, namespace string, s *snowfence.Scheme, o Settings, tell Report) *Setup {
	t := &Setup{
		Settings: o, Name: namespace, Scheme: s, Ticks: Ticks{s.Layout(), s.MaxTick(), o.TTL}, World: w, Report: tell,
	}
	t.SetMachine(w.Machine())
	return t
}

// SetMachine says on which machine the claim has its identity.
func (s *Setup) SetMachine(m world.Machine) { s.machine.Store(&m) }

// Copied reports whether a copy of this machine may have the same claim.
func (s *Setup) Copied() bool { return s.machine.Load().Copied() }

// Now returns the time that leases go by.
func (s *Setup) Now() time.Time {
	now, _ := s.Clock.Time()
	return now
}

// correct sets the time to the wall clock, which agrees with the store's or
// the server's.
//
// Invariant: floors and a generator's position only rise, so the time
// decides no uniqueness.
func (s *Setup) correct(by time.Duration) {
	s.Clock.Correct()
	s.Logger.Info("the clock was ahead and is right again: new IDs have its time",
		"namespace", s.Name, "label", s.Label, "ahead", by.Round(time.Millisecond))
}

// Kept is a node, and the highest until that was sent for it: the store may
// keep it for us up to there. Node is −1 if a server was to choose it.
type Kept struct{ Node, Until int64 }

func (k *Kept) String() string {
	if k.Node < 0 {
		return "a node"
	}
	return fmt.Sprintf("node %d", k.Node)
}

// Kept returns which node the store may keep for the claim, and until when;
// nil means none.
func (s *Setup) Kept() *Kept { return s.kept.Load() }

// LastTTL returns the ttl that a server gave last, or that the claim has
// over a store.
func (s *Setup) LastTTL() time.Duration { return cmp.Or(time.Duration(s.given.Load()), s.TTL) }

// setTTL sets the ttl of the grants.
func (s *Setup) setTTL(ttl time.Duration) { s.TTL, s.Ticks.TTL = ttl, ttl }

// noteSend notes how long a node is kept for us if the coming write
// arrives. It notes before it looks at ctx, so the goroutine that ended ctx
// and reads kept knows of every write.
func (s *Setup) noteSend(ctx context.Context, node, until int64) error {
	before := s.kept.Load()
	if before == nil || until > before.Until {
		s.kept.Store(&Kept{node, until})
	}
	if err := ctx.Err(); err != nil {
		s.kept.Store(before)
		return err
	}
	return nil
}

// Backoff returns the wait after failures in a row: short at first, because
// callers wait.
func (s *Setup) Backoff(failures int) time.Duration {
	d := min(10*time.Millisecond<<min(failures, 8), time.Second, s.TTL/3)
	return d/2 + s.Random(d/2+1)
}

// Random returns a random part of a duration.
func (s *Setup) Random(n time.Duration) time.Duration {
	return time.Duration(world.Rand(s.World).Int64N(int64(n)))
}

// Settings are the wishes and tools of a claim. The fields are as in
// lease.Options.
type Settings struct {
	TTL     time.Duration
	MaxSkew time.Duration
	Node    *int64
	Guard   bool
	Within  snowfence.NodeRange
	Nodes   int
	Label   string
	Wait    bool
	Create  bool
	Clock   *clock.Clock // by which ticks are leased
	Logger  *slog.Logger
}

// longestLabel leaves room in 255 bytes for the name of a token.
const longestLabel = 128

// Normal returns the settings with a label and a block size, checked.
func (n Settings) Normal(s *snowfence.Scheme) (Settings, error) {
	n.Nodes = cmp.Or(n.Nodes, 1)
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
		return n, fault.Invalidf("lease: Options.MaxSkew is %v; it must not be negative", n.MaxSkew)
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
	case n.Node != nil && n.Within != snowfence.NodeRange{}:
		return n, fault.Invalidf("lease: Options.Within chooses a free node; Options.Node is one already: leave one " +
			"of them out")
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
