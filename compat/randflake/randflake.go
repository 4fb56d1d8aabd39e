package randflake

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// The parts of an ID before it is encrypted, as Unix seconds, bits and
// highest values.
const (
	RANDFLAKE_EPOCH_OFFSET = 1730000000 // 2024-10-27T03:33:20Z

	RANDFLAKE_TIMESTAMP_BITS = 30 // 34 years
	RANDFLAKE_NODE_BITS      = 17
	RANDFLAKE_SEQUENCE_BITS  = 17 // in a second

	RANDFLAKE_MAX_TIMESTAMP = RANDFLAKE_EPOCH_OFFSET + 1<<RANDFLAKE_TIMESTAMP_BITS - 1 // 2058-11-05T17:10:23Z
	RANDFLAKE_MAX_NODE      = 1<<RANDFLAKE_NODE_BITS - 1
	RANDFLAKE_MAX_SEQUENCE  = 1<<RANDFLAKE_SEQUENCE_BITS - 1
)

// The errors of the original, with its texts. [Generator.GenerateContext]
// may wrap them; other methods return them as they are.
var (
	ErrRandflakeDead     = errors.New("randflake: the randflake id is dead after 34 years of lifetime")
	ErrInvalidSecret     = errors.New("randflake: invalid secret, secret must be 16 bytes long")
	ErrInvalidLease      = errors.New("randflake: invalid lease, lease expired or not started yet")
	ErrInvalidNode       = errors.New("randflake: invalid node id, node id must be between 0 and 131071")
	ErrResourceExhausted = errors.New("randflake: resource exhausted " +
		"(generator can't handle current throughput, try using multiple randflake instances)")
	ErrConsistencyViolation = errors.New("randflake: timestamp consistency violation, " +
		"the current time is less than the last time")
	ErrInvalidID = errors.New("randflake: invalid id")
)

// ErrOverlap means that another generator of this process could make the
// same IDs: it has the same secret and node, one of the two over a fence
// and the other without.
var ErrOverlap = process.ErrOverlap

// Generator makes IDs. It is safe for concurrent use, and must not be
// copied.
type Generator struct {
	// TimeSource returns the time in Unix seconds. Set it before the first
	// Generate, and do not change it: it is called for each ID, with locks
	// held. With nil, a generator follows the system's clock within 10 ms.
	// A generator over a fence never calls it.
	TimeSource func() int64

	on      atomic.Pointer[process.Handle] // nil while the node is not taken
	sourced atomic.Bool                    // on was opened with TimeSource
	fenced  bool                           // on is over a fence, which has all that follows

	scheme     *snowfence.Scheme
	nodeID     int64
	leaseStart int64

	mu       sync.Mutex // held while the node is taken
	leaseEnd int64      // only rises
	closed   bool
}

// NewGenerator returns a generator for a bare node number and the seconds
// from leaseStart to leaseEnd, both included, as Unix time. The secret has
// 16 bytes. If this process uses the node over a fence, the error is
// [ErrOverlap].
//
// Generators with the same node, secret and lease share one underlying
// generator, with the latest lease end of all. A generator with another
// lease, or with a TimeSource, takes the node over in its first second;
// from then on the others return [snowfence.ErrClosed].
func NewGenerator(nodeID, leaseStart, leaseEnd int64, secret []byte) (*Generator, error) {
	switch {
	case leaseEnd < leaseStart:
		return nil, ErrInvalidLease
	case nodeID < 0 || nodeID > RANDFLAKE_MAX_NODE:
		return nil, ErrInvalidNode
	case leaseStart < RANDFLAKE_EPOCH_OFFSET:
		return nil, ErrInvalidLease
	case leaseEnd > RANDFLAKE_MAX_TIMESTAMP:
		return nil, ErrRandflakeDead
	}
	key, err := snowfence.NewSecret(secret)
	if err != nil {
		return nil, ErrInvalidSecret
	}
	s, err := snowfence.NewScheme(snowfence.Randflake(), key)
	if err != nil {
		return nil, err
	}
	g := &Generator{scheme: s, nodeID: nodeID, leaseStart: leaseStart, leaseEnd: leaseEnd}
	if _, err := g.handle(); errors.Is(err, ErrOverlap) {
		return nil, err
	}
	return g, nil
}

// NewOn returns a generator over a fence: a lease, a state file or a static
// number. The fence serves this generator alone, and its layout is
// [snowfence.Randflake]. Close gives its grant back. If this process uses
// the node without a fence, the error is [ErrOverlap]. If the fence grants
// such a node later, Generate returns [ErrInvalidLease] until the other
// generator is closed.
func NewOn(f snowfence.Fence) (*Generator, error) {
	if f == nil {
		return nil, errors.New("randflake: the fence is nil: use a lease, statefile.File or snowfence.Unguarded")
	}
	s, want := f.Scheme(), snowfence.Randflake().String()
	if s == nil || s.Layout().String() != want {
		return nil, fmt.Errorf("randflake: the fence has another layout than Randflake: use a namespace "+
			"or a scheme of snowfence.Randflake(), which is %s", want)
	}
	on, err := process.On(f, process.Options{})
	if err != nil {
		return nil, err
	}
	g := &Generator{scheme: s, fenced: true}
	g.on.Store(on)
	g.sourced.Store(true)
	return g, nil
}

// Close ends the generator: Generate returns [snowfence.ErrClosed] from
// then on. Over a fence it gives the grant back. Other generators with the
// same node and secret go on.
func (g *Generator) Close() error {
	g.mu.Lock()
	on := g.on.Load()
	g.closed = g.scheme != nil // so that no other handle comes
	g.mu.Unlock()              // Generate does not wait for the store
	if on == nil {
		return nil
	}
	return on.Close()
}

// UpdateLease moves the end of the lease and reports whether it did.
// leaseStart must be the start of the lease, and leaseEnd later than its
// end. Over a fence it always returns false, because the fence renews its
// grants itself.
func (g *Generator) UpdateLease(leaseStart, leaseEnd int64) bool {
	if g.fenced || leaseStart != g.leaseStart || leaseEnd > RANDFLAKE_MAX_TIMESTAMP {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if on := g.on.Load(); on != nil {
		return on.Extend(leaseEnd - RANDFLAKE_EPOCH_OFFSET + 1)
	}
	if leaseEnd <= g.leaseEnd {
		return false
	}
	g.leaseEnd = leaseEnd
	return true
}

// LeaseInfo is the lease of a generator: a node and the seconds from
// LeaseStart to LeaseEnd, both included.
type LeaseInfo struct {
	NodeID     int64
	LeaseStart int64
	LeaseEnd   int64
}

// GetLeaseInfo returns the lease. Over a fence it returns the grant in use,
// or the zero LeaseInfo if there is none.
func (g *Generator) GetLeaseInfo() LeaseInfo {
	if !g.fenced {
		g.mu.Lock()
		defer g.mu.Unlock()
		return LeaseInfo{NodeID: g.nodeID, LeaseStart: g.leaseStart, LeaseEnd: g.end()}
	}
	gr, ok := g.on.Load().Grant()
	if !ok {
		return LeaseInfo{}
	}
	return LeaseInfo{
		NodeID:     gr.Node,
		LeaseStart: RANDFLAKE_EPOCH_OFFSET + gr.From,
		LeaseEnd:   RANDFLAKE_EPOCH_OFFSET + gr.Until - 1,
	}
}
