package snowfence

import (
	"context"
	"fmt"
)

// Tag returns the ID with the caller's number in its tag field. IDs that a
// generator made stay different with any tags: their other bits differ. A
// tag that does not fit is an [ErrInvalidID], as is an ID of another
// layout. An encrypted ID keeps its secret.
func (s *Scheme) Tag(id ID, tag int64) (ID, error) {
	if err := s.checkTag(tag); err != nil {
		return 0, err
	}
	raw, p, err := s.decryptID(id)
	if err != nil {
		return 0, err
	}
	raw = raw&^((1<<s.tagBits-1)<<s.tagShift) | ID(tag)<<s.tagShift
	if p != nil {
		raw = ID(p.encrypt(uint64(raw)))
	}
	return raw, nil
}

func (s *Scheme) checkTag(tag int64) error {
	switch {
	case s.tagBits == 0:
		return fmt.Errorf("%w: the layout %s has no tag field: take a layout with one", ErrInvalidID, s.layout)
	case tag < 0 || uint64(tag)>>s.tagBits != 0:
		return fmt.Errorf("%w: tag %d; its %d bits hold 0 to %d", ErrInvalidID, tag, s.tagBits, uint64(1)<<s.tagBits-1)
	}
	return nil
}

// NextFor is [Generator.Next] with a number of the caller in the tag field,
// as by [Scheme.Tag]. A tag that does not fit uses up no ID.
func (g *Generator) NextFor(ctx context.Context, tag int64) (ID, error) {
	if err := g.scheme.checkTag(tag); err != nil {
		return 0, err
	}
	id, err := g.Next(ctx)
	if err != nil {
		return 0, err
	}
	return g.scheme.Tag(id, tag)
}
