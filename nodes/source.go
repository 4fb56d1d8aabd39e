// Package nodes finds the node number of a process, for processes that have
// a fixed one: in the environment, a file, the host name, the address, or
// with a function.
//
//	node, err := nodes.Find(ctx, scheme, nodes.FromEnv("WORKER"))
//
// A source only finds a number. It cannot make sure that no other process
// has the same one; to be sure, lease it as well (Options.Node and
// Options.Guard of package lease). A fence such as statefile.File keeps IDs
// unique over restarts.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence"
)

// Source is where a process finds its node number, or one part of it such
// as the datacenter. It is immutable.
type Source struct {
	name string // for errors: "environment variable WORKER"
	find func(ctx context.Context) (int64, error)
}

// ErrNoNode means that a [Source] has no usable number; the text names the
// fault, its place, and the cure.
var ErrNoNode = errors.New("no node number")

// Func is a source of your own, such as the metadata service of a cloud or
// a row of a database. Errors contain its name.
func Func(name string, find func(ctx context.Context) (int64, error)) Source {
	return Source{name: name, find: find}
}

// Number is a source that returns n.
func Number(n int64) Source {
	return Func(fmt.Sprintf("number %d", n), func(context.Context) (int64, error) { return n, nil })
}

// String returns the name of the source.
func (s Source) String() string { return s.name }

// Find asks a source for each part of the node, from the highest field
// down, and joins them: for Twitter's layout, Find(ctx, scheme, datacenter,
// worker). A single source for several parts gives the whole node. Errors
// match [ErrNoNode] and the error of the source.
func Find(ctx context.Context, s *snowfence.Scheme, sources ...Source) (int64, error) {
	fields := s.Layout().NodeParts()
	if len(sources) == 1 && len(fields) != 1 {
		fields = []snowfence.Field{{Name: snowfence.FieldNode, Bits: s.Layout().Bits(snowfence.FieldNode)}}
	}
	if len(sources) != len(fields) {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		return 0, fmt.Errorf("nodes: %w: %d sources given; the node of the layout has the parts %s: "+
			"give one for each, or one for the whole node", ErrNoNode, len(sources), strings.Join(names, ", "))
	}
	var node int64
	for i, f := range fields {
		n, err := sources[i].number(ctx, &f)
		if err != nil {
			return 0, fmt.Errorf("nodes: %s from %s: %w: %w", f.Name, sources[i].name, ErrNoNode, err)
		}
		node = node<<f.Bits | n
	}
	return node, nil
}

// Number returns the number that the source finds, for example a datacenter
// for [snowfence.Scheme.NodesWith]. It returns the errors of [Find].
func (s Source) Number(ctx context.Context) (int64, error) {
	n, err := s.number(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("nodes: %s: %w: %w", s.name, ErrNoNode, err)
	}
	return n, nil
}

// number asks the source, for a field if there is one.
func (s Source) number(ctx context.Context, f *snowfence.Field) (int64, error) {
	if s.find == nil {
		return 0, errors.New("it is the zero nodes.Source: make one with nodes.FromEnv or one of its kind")
	}
	n, err := s.find(ctx)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, fmt.Errorf("it is %d: numbers go from 0 up", n)
	case f != nil && f.Bits < 63 && n>>f.Bits != 0:
		return 0, fmt.Errorf("it is %d, and %s has %d bits, which hold 0 to %d: "+
			"give a smaller one, or use a layout with more", n, f.Name, f.Bits, int64(1)<<f.Bits-1)
	}
	return n, nil
}
