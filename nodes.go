package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NodeSource is where a process finds its node number, or the number of one part of it such as its datacenter: the environment, a file, its host name,
// its address, or a function of the caller's. It is an immutable value for [Scheme.NodeFrom].
//
// A source only finds a number. That nobody else has it is for whoever gives the numbers out to know, unless the number is
// leased as well (Options.Node and Options.Guard of the package lease); and that a restart makes no ID twice is the work of a fence such as [StateFile].
type NodeSource struct {
	name  string // for errors: "environment variable WORKER"
	find  func(ctx context.Context) (int64, error)
	check func(ctx context.Context, node int64) error
}

// ErrNoNode means that a [NodeSource] has no number, or one that cannot be used; the text says what was found, where, and what to do.
var ErrNoNode = errors.New("no node number")

// NodeFunc is a source of the caller's own: the metadata service of a cloud, a row of a database. name says in errors what was asked.
func NodeFunc(name string, find func(ctx context.Context) (int64, error)) NodeSource {
	return NodeSource{name: name, find: find}
}

// NodeNumber is a number that is known already.
func NodeNumber(n int64) NodeSource {
	return NodeFunc(fmt.Sprintf("number %d", n), func(context.Context) (int64, error) { return n, nil })
}

// Check returns the source with a hook that may refuse what it found, as CheckMachineID of Sonyflake does: an error refuses the number, and is wrapped in that
// of NodeFrom. The hook is asked once for each call of NodeFrom, after hooks that were there before, and for a part of the node is given that part.
// One for leases, which is asked about each node before it is leased, is Options.Check of the package lease; it has the same type.
func (s NodeSource) Check(check func(ctx context.Context, node int64) error) NodeSource {
	before := s.check
	if before == nil {
		s.check = check
		return s
	}
	s.check = func(ctx context.Context, node int64) error {
		if err := before(ctx, node); err != nil {
			return err
		}
		return check(ctx, node)
	}
	return s
}

// String names the source.
func (s NodeSource) String() string { return s.name }

// NodeFrom asks a source for each part of the node, from the highest field down, and joins them: for Twitter's layout,
// NodeFrom(ctx, datacenter, worker). A single source for a layout with several parts is asked for the whole node. Errors match [ErrNoNode], and
// what a source or its hook reported.
func (s *Scheme) NodeFrom(ctx context.Context, parts ...NodeSource) (int64, error) {
	fields := slices.Clone(s.parts)
	if len(parts) == 1 && len(fields) != 1 {
		fields = []placedField{{Field: Field{Name: FieldNode, Bits: int(s.nodeBits)}}}
	}
	if len(parts) != len(fields) {
		names := make([]string, len(s.parts))
		for i, f := range s.parts {
			names[i] = f.Name
		}
		return 0, fmt.Errorf("snowfence: %w: %d sources given; the node of the layout has the parts %s: give one for each, or one for the whole node", ErrNoNode, len(parts), strings.Join(names, ", "))
	}
	var node int64
	for i, f := range fields {
		n, err := parts[i].number(ctx, &f)
		if err != nil {
			return 0, fmt.Errorf("snowfence: %s from %s: %w: %w", f.Name, parts[i].name, ErrNoNode, err)
		}
		node = node<<f.Bits | n
	}
	return node, nil
}

// Number asks the source alone, for example for the datacenter whose workers [Scheme.NodesWith] names. Errors are as those of NodeFrom.
func (s NodeSource) Number(ctx context.Context) (int64, error) {
	n, err := s.number(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("snowfence: %s: %w: %w", s.name, ErrNoNode, err)
	}
	return n, nil
}

// number asks the source, for a field if there is one.
func (s NodeSource) number(ctx context.Context, f *placedField) (int64, error) {
	if s.find == nil {
		return 0, errors.New("it is the zero NodeSource: make one with NodeFromEnv or one of its kind")
	}
	n, err := s.find(ctx)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, fmt.Errorf("it is %d: numbers go from 0 up", n)
	case f != nil && f.Bits < 63 && n>>f.Bits != 0:
		return 0, fmt.Errorf("it is %d, and %s has %d bits, which hold 0 to %d: give a smaller one, or use a layout with more", n, f.Name, f.Bits, int64(f.mask()))
	case s.check == nil:
		return n, nil
	}
	if err := s.check(ctx, n); err != nil {
		return 0, fmt.Errorf("%d was refused: %w", n, err)
	}
	return n, nil
}
