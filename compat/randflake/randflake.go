package randflake

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
	"github.com/snowfence/snowfence/internal/sparx"
)

// The parts of an ID before it is encrypted, as Unix seconds, bits and highest
// values.
const (
	RANDFLAKE_EPOCH_OFFSET = 1730000000 // 2024-10-27T03:33:20Z

	RANDFLAKE_TIMESTAMP_BITS = 30 // 34 years
	RANDFLAKE_NODE_BITS      = 17
	RANDFLAKE_SEQUENCE_BITS  = 17 // in a second

	RANDFLAKE_MAX_TIMESTAMP = RANDFLAKE_EPOCH_OFFSET + 1<<RANDFLAKE_TIMESTAMP_BITS - 1 // 2058-11-05T17:10:23Z
	RANDFLAKE_MAX_NODE      = 1<<RANDFLAKE_NODE_BITS - 1
	RANDFLAKE_MAX_SEQUENCE  = 1<<RANDFLAKE_SEQUENCE_BITS - 1
)

// The errors of the original, with its texts. [Generator.GenerateContext] may wrap
// them; other methods return them as they are.
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

// Generator makes IDs. It is safe for concurrent use, and must not be copied.
type Generator struct {
	// TimeSource returns the time in Unix seconds. Each Generate calls it, so set it
	// before. With nil, a generator reads the system's clock, a step of which it
	// notices within 10 ms. A generator over a fence never calls it: the fence has
	// the clock.
	TimeSource func() int64

	on *process.Handle // over a fence, which has all that follows

	nodeID     int64
	leaseStart int64
	leaseEnd   atomic.Int64 // only rises
	cipher     *sparx.Cipher
	start      time.Time // of elapsed time

	used  *position
	batch atomic.Pointer[batch] // IDs made ahead, never nil
	size  int64                 // of the last batch; guarded by used.mu
	over  bool                  // closed; guarded by used.mu
	lost  runtime.Cleanup       // instead of Close
}

// NewGenerator returns a generator of a bare node number for the seconds from
// leaseStart to leaseEnd, both included, as Unix time. The secret has 16 bytes. A
// node that this process uses over a fence is an [ErrOverlap].
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
	case len(secret) != sparx.KeySize:
		return nil, ErrInvalidSecret
	}
	c, err := sparx.New(secret)
	if err != nil {
		return nil, err
	}
	g := &Generator{nodeID: nodeID, leaseStart: leaseStart, cipher: c, start: time.Now()}
	g.leaseEnd.Store(leaseEnd)
	g.used = positions.of(c.Encrypt64(0), nodeID)
	if err := g.used.open(nodeID); err != nil {
		return nil, err
	}
	g.batch.Store(noBatch)
	g.lost = runtime.AddCleanup(g, (*position).close, g.used)
	return g, nil
}

// NewOn returns a generator over a fence: a lease, a state file or a static
// number. The fence serves this generator alone, and its layout is
// [snowfence.Randflake]. Close gives its grant back. A node that this process uses
// without a fence is an [ErrOverlap]; if the fence grants it later, Generate returns
// [ErrInvalidLease] until that generator is closed.
func NewOn(f snowfence.Fence) (*Generator, error) {
	if f == nil {
		return nil, errors.New("randflake: the fence is nil: use a lease, statefile.File or snowfence.Unguarded")
	}
	if s, want := f.Scheme(), snowfence.Randflake().String(); s == nil || s.Layout().String() != want {
		return nil, fmt.Errorf("randflake: the fence has another layout than Randflake: use a namespace "+
			"or a scheme of snowfence.Randflake(), which is %s", want)
	}
	first, err := f.Scheme().Compose(snowfence.Parts{})
	if err != nil {
		return nil, err
	}
	on, err := process.On(f, process.Options{
		Enter: func(node, nodes int64) (int64, func(int64), error) {
			return positions.enter(uint64(first), node, nodes)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Generator{on: on}, nil
}

// Close ends the generator: Generate returns [snowfence.ErrClosed] from then on.
// Over a fence it gives the grant back. Others with the same node and secret go
// on.
func (g *Generator) Close() error {
	if g.on != nil {
		return g.on.Close()
	}
	if g.used == nil {
		return nil // the zero Generator
	}
	g.used.mu.Lock()
	defer g.used.mu.Unlock()
	if !g.over {
		g.lost.Stop()
		g.used.bare--
	}
	g.over = true
	g.batch.Store(noBatch)
	return nil
}

// UpdateLease moves the end of the lease and reports whether it did. leaseStart is
// that of the lease, and leaseEnd is later than its end. Over a fence it is
// always false, because the fence renews its grants itself.
func (g *Generator) UpdateLease(leaseStart, leaseEnd int64) bool {
	if g.on != nil || leaseStart != g.leaseStart || leaseEnd > RANDFLAKE_MAX_TIMESTAMP {
		return false
	}
	for {
		end := g.leaseEnd.Load()
		if leaseEnd <= end {
			return false
		}
		if g.leaseEnd.CompareAndSwap(end, leaseEnd) {
			return true
		}
	}
}

// LeaseInfo is the lease of a generator: a node and the seconds from LeaseStart to
// LeaseEnd, both included.
type LeaseInfo struct {
	NodeID     int64
	LeaseStart int64
	LeaseEnd   int64
}

// GetLeaseInfo returns the lease. Over a fence it is the grant in use, and the
// zero LeaseInfo while there is none.
func (g *Generator) GetLeaseInfo() LeaseInfo {
	if g.on == nil {
		return LeaseInfo{NodeID: g.nodeID, LeaseStart: g.leaseStart, LeaseEnd: g.leaseEnd.Load()}
	}
	gr, ok := g.on.Grant()
	if !ok {
		return LeaseInfo{}
	}
	return LeaseInfo{
		NodeID:     gr.Node,
		LeaseStart: RANDFLAKE_EPOCH_OFFSET + gr.From,
		LeaseEnd:   RANDFLAKE_EPOCH_OFFSET + gr.Until - 1,
	}
}
