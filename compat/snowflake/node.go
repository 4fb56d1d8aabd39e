package snowflake

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// The settings. Set them at the start of the program, because [NewNode],
// [NewNodeOn] and [Scheme] read them: a write at the same time as other
// calls is a data race.
var (
	// Epoch is when the time of IDs begins, in milliseconds of Unix time:
	// the epoch of Twitter. ID.Time reads it at each call.
	Epoch int64 = 1288834974657

	// NodeBits is the width of the node number. It shares 22 bits with
	// StepBits.
	NodeBits uint8 = 10

	// StepBits is the width of the number within a millisecond.
	StepBits uint8 = 12
)

// settings are the variables as some NewNode saw them. They do not change.
type settings struct {
	epoch              int64
	nodeBits, stepBits uint8
	scheme             *snowfence.Scheme
}

// latest are the settings of the latest NewNode, which say what ID.Node and
// ID.Step mean; nil before the first.
var latest atomic.Pointer[settings]

// options are for all nodes. Systems wake a waiting thread up to a
// millisecond late. A lead of one keeps the rate at a full sequence a
// millisecond all the same.
func options() process.Options { return process.Options{Lead: 1} }

// Node makes the IDs of one node number. It is safe for concurrent use. The
// zero value has no number: its calls fail, and Generate panics with that
// error.
type Node struct{ handle *process.Handle }

// NewNode returns a node with the present Epoch, NodeBits and StepBits.
// Nodes with the same number in one process never repeat an ID, while Epoch
// and the sum of NodeBits and StepBits stay. Nothing checks whether another
// process has the number: see [NewNodeOn].
//
// An error matching [ErrOverlap] means that this process uses NodeBits and
// StepBits of that sum that could make the same IDs, or a fence with the
// number.
func NewNode(node int64) (*Node, error) {
	s, err := present()
	if err != nil {
		return nil, err
	}
	latest.Store(s)
	if node < 0 || node >= s.scheme.Nodes() {
		return nil, errors.New("Node number must be between 0 and " + strconv.FormatInt(s.scheme.Nodes()-1, 10))
	}
	h, err := process.Open(s.scheme, node, options())
	if err != nil {
		return nil, err
	}
	return &Node{h}, nil
}

// present returns the settings of now.
func present() (*settings, error) {
	s := latest.Load()
	if s != nil && s.epoch == Epoch && s.nodeBits == NodeBits && s.stepBits == StepBits {
		return s, nil
	}
	s = &settings{epoch: Epoch, nodeBits: NodeBits, stepBits: StepBits}
	bits := int(s.nodeBits) + int(s.stepBits)
	if bits > 22 {
		return nil, fmt.Errorf("snowflake: NodeBits is %d and StepBits is %d: they share 22 bits",
			s.nodeBits, s.stepBits)
	}
	l := snowfence.Layout{
		Epoch: time.UnixMilli(s.epoch), Tick: time.Millisecond,
		Fields: []snowfence.Field{{Name: snowfence.FieldTime, Bits: min(63-bits, 62)}},
	}
	for _, f := range []snowfence.Field{
		{Name: snowfence.FieldNode, Bits: int(s.nodeBits)},
		{Name: snowfence.FieldSequence, Bits: int(s.stepBits)},
	} {
		if f.Bits > 0 {
			l.Fields = append(l.Fields, f)
		}
	}
	var err error
	if s.scheme, err = snowfence.NewScheme(l); err != nil {
		return nil, fmt.Errorf("snowflake: Epoch %d: %w", s.epoch, err)
	}
	return s, nil
}

// NewNodeOn returns a node over a fence, such as a state file or a lease,
// with the scheme of [Scheme]. The fence decides its number, and makes sure
// that no other process has it. Call Close at the end, to give the number
// back. If this process uses the number without a fence, the error is
// [ErrOverlap]. If a lease gets such a number later, calls wait until the
// other node is closed.
func NewNodeOn(f snowfence.Fence) (*Node, error) {
	s, err := present()
	if err != nil {
		return nil, err
	}
	latest.Store(s)
	if err := s.check(f); err != nil {
		return nil, err
	}
	h, err := process.On(f, options())
	if err != nil {
		return nil, err
	}
	return &Node{h}, nil
}

// Scheme returns the scheme of the present Epoch, NodeBits and StepBits,
// for a fence.
func Scheme() (*snowfence.Scheme, error) {
	s, err := present()
	if err != nil {
		return nil, err
	}
	return s.scheme, nil
}

// ErrOverlap means that this process already makes IDs that could be the
// same: with other settings, or with the same number over a fence.
var ErrOverlap = process.ErrOverlap

// check refuses a fence with IDs that the accessors of ID would show wrong.
func (s *settings) check(f snowfence.Fence) error {
	if f == nil || f.Scheme() == nil {
		return errors.New("snowflake: the fence is nil or has no scheme: make it with snowflake.Scheme()")
	}
	want, got := s.scheme.Layout(), f.Scheme().Layout()
	ok := got.Epoch.Equal(want.Epoch) && got.Tick == want.Tick && got.Cipher == snowfence.Plain &&
		got.Bits(snowfence.FieldNode) == int(s.nodeBits) && got.Bits(snowfence.FieldSequence) == int(s.stepBits) &&
		got.Bits(snowfence.FieldRollback) == 0 && got.Width() < 64
	if last := got.Fields[len(got.Fields)-1]; s.stepBits > 0 && last.Name != snowfence.FieldSequence {
		ok = false // part of the node stands below the sequence
	}
	if !ok {
		return fmt.Errorf("snowflake: the layout of the fence is %s; Epoch, NodeBits and StepBits say %s: "+
			"make the fence with snowflake.Scheme()", got, want)
	}
	return nil
}

// Generate returns a new ID. It waits for the next millisecond, for a clock
// that is behind, or for a fence without a grant, and logs it once a
// minute. It panics after the last millisecond of the layout, and after
// Close.
func (n *Node) Generate() ID {
	if n.handle == nil {
		panic(errZeroNode)
	}
	return ID(n.handle.Must())
}

var errZeroNode = fmt.Errorf("snowflake: a Node without a number: make it with NewNode or NewNodeOn (%w)",
	snowfence.ErrClosed)

// GenerateContext is Generate, but waits at most until ctx ends, and
// returns errors.
func (n *Node) GenerateContext(ctx context.Context) (ID, error) {
	if n.handle == nil {
		return 0, errZeroNode
	}
	id, err := n.handle.Next(ctx)
	return ID(id), err
}

// GenerateN returns count new IDs, in increasing order. It waits and panics
// as Generate does.
func (n *Node) GenerateN(count int) []ID {
	if n.handle == nil {
		panic(errZeroNode)
	}
	ids := make([]snowfence.ID, count)
	n.handle.MustFill(ids)
	return convert(ids)
}

// GenerateNContext is GenerateN, but waits at most until ctx ends, and
// returns errors. After an error the IDs it returns are good.
func (n *Node) GenerateNContext(ctx context.Context, count int) ([]ID, error) {
	if n.handle == nil {
		return nil, errZeroNode
	}
	ids := make([]snowfence.ID, count)
	k, err := n.handle.Fill(ctx, ids)
	return convert(ids[:k]), err
}

func convert(ids []snowfence.ID) []ID {
	out := make([]ID, len(ids))
	for i, id := range ids {
		out[i] = ID(id)
	}
	return out
}

// Close ends the use of n. Over a fence it gives the node back. Without
// one, Close is not needed: the garbage collector frees the number.
func (n *Node) Close() error {
	if n.handle == nil {
		return nil
	}
	return n.handle.Close()
}
