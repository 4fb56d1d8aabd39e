package sequence

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Info is what a store says of a sequence.
type Info struct {
	Name       string
	Definition Definition // with every default written out
	Next       int64      // the first number that no program has; not if Left is 0
	Left       int64      // how many numbers no program has
	Deleted    bool
	RolledBack bool // the store may have lost numbers: see [Confirm]
}

// Show returns a sequence, also a deleted one. It is an [ErrNoSequence] if there is none of the
// name.
func Show(ctx context.Context, st lease.Store, name string) (Info, error) {
	s, err := read(ctx, st, name)
	if err != nil {
		return Info{}, err
	}
	return s.info(ctx, st)
}

// List returns all sequences of a store in the order of their names, also deleted ones.
func List(ctx context.Context, st lease.Store) ([]Info, error) {
	var out []Info
	nodes := snowfence.NodeRange{From: recordNode, Until: recordNode + 1}
	for r, err := range lease.Records(ctx, st, lease.Query{Nodes: nodes}) {
		if err != nil {
			return nil, fmt.Errorf("sequence: listing: %w", err)
		}
		name, ok := strings.CutPrefix(r.Namespace, "#")
		if !ok {
			continue
		}
		s, err := decode(name, r)
		if err != nil {
			return nil, err
		}
		info, err := s.info(ctx, st)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func (s state) info(ctx context.Context, st lease.Store) (Info, error) {
	id, err := st.Identity(ctx, s.record.Namespace)
	if err != nil {
		return Info{}, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	i := Info{
		Name: s.name, Definition: s.Definition, Left: max(0, s.course.count-s.record.From), Deleted: s.Deleted,
		RolledBack: id != s.Identity && s.AfterFailover == Stop,
	}
	if i.Left > 0 {
		i.Next = s.course.number(s.record.From)
	}
	return i, nil
}
