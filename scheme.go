package snowfence

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Scheme composes and decodes the IDs of one layout. It is immutable, has
// no lease and no clock, and is safe for concurrent use. Schemes of equal
// layouts are interchangeable.
type Scheme struct {
	layout Layout // normal form, own copy of Fields
	placed []placedField
	parts  []placedField // of the node, from the highest down

	timeShift, seqShift, rollShift, keyShift, scatterShift, tagShift uint8
	timeBits, seqBits, rollBits, keyBits, scatterBits, tagBits       uint8
	width, nodeBits                                                  uint8

	keyIDs  []string
	perms   []permutation // by key number; nil for one that is gone
	current permutation   // of the last secret, nil when IDs are plain
}

type placedField struct {
	Field
	shift uint8 // of the field's lowest bit inside the ID
}

func (f placedField) mask() uint64 { return 1<<f.Bits - 1 }

// NewScheme checks the layout and returns its scheme. Encrypted layouts
// need a secret. Layouts with a key field take several, in the order in
// which they came into use: the last encrypts new IDs, nil stands for a
// lost secret. The error is an [ErrInvalidLayout] that names the field, or
// an [ErrKey].
func NewScheme(l Layout, keys ...*Secret) (*Scheme, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l = l.norm()
	l.Fields = slices.Clone(l.Fields)
	s := &Scheme{layout: l, width: uint8(l.Width())}
	perms, err := newPermutations(l, keys)
	if err != nil {
		return nil, err
	}
	if s.perms = perms; len(perms) > 0 {
		s.current = perms[len(perms)-1]
	}
	for _, k := range keys {
		id := ""
		if k != nil {
			id = k.ID()
		}
		s.keyIDs = append(s.keyIDs, id)
	}
	shift := l.Width()
	for _, f := range l.Fields {
		shift -= f.Bits
		p := placedField{f, uint8(shift)}
		s.placed = append(s.placed, p)
		switch f.Name {
		case FieldTime:
			s.timeShift, s.timeBits = p.shift, uint8(f.Bits)
		case FieldSequence:
			s.seqShift, s.seqBits = p.shift, uint8(f.Bits)
		case FieldRollback:
			s.rollShift, s.rollBits = p.shift, uint8(f.Bits)
		case FieldKey:
			s.keyShift, s.keyBits = p.shift, uint8(f.Bits)
		case FieldScatter:
			s.scatterShift, s.scatterBits = p.shift, uint8(f.Bits)
		case FieldTag:
			s.tagShift, s.tagBits = p.shift, uint8(f.Bits)
		default:
			s.parts = append(s.parts, p)
			s.nodeBits += uint8(f.Bits)
		}
	}
	return s, nil
}

// Layout returns the scheme's layout. The caller owns its Fields.
func (s *Scheme) Layout() Layout {
	l := s.layout
	l.Fields = slices.Clone(l.Fields)
	return l
}

// Fingerprint identifies what gives an ID its meaning: the layout, and the
// secret if there can be only one. Stores and state files keep it, so that
// no program continues with another scheme. For the secrets of a layout
// with a key field see KeyIDs.
func (s *Scheme) Fingerprint() string {
	if len(s.keyIDs) == 1 && s.keyBits == 0 {
		return s.layout.String() + " key " + s.keyIDs[0]
	}
	return s.layout.String()
}

// KeyIDs returns the [Secret.ID] of each secret in order, and "" for a nil
// one.
func (s *Scheme) KeyIDs() []string { return slices.Clone(s.keyIDs) }

// MaxTick returns the last tick the layout can stamp.
func (s *Scheme) MaxTick() int64 { return int64(1)<<s.timeBits - 1 }

// Nodes returns the number of nodes; they are 0 to Nodes−1.
func (s *Scheme) Nodes() int64 {
	if s.nodeBits >= 63 {
		return math.MaxInt64
	}
	return 1 << s.nodeBits
}

// Parts is an ID taken apart.
type Parts struct {
	Tick     int64     // ticks since the epoch
	Time     time.Time // start of that tick, UTC; at most the end of the year 9999
	Node     int64     // all node parts as one number; take it apart with Scheme.NodeParts
	Sequence int64
	Rollback int64 // 0 when the layout has no rollback bits
	Key      int   // number of the secret, in the order of NewScheme; 0 when there is one or none
	Scatter  int64 // chosen by the generator; 0 when the layout has no scatter bits
	Tag      int64 // of the caller; 0 when the layout has no tag bits
}

// Compose returns the ID of the parts, encrypted with the last secret if
// the layout is. It checks only that each number fits its field, not that
// the ID is new; only a [Generator] makes new ones. It ignores Parts.Time
// and Parts.Key. A tick that does not fit is an [ErrLifetime], another part
// an [ErrInvalidID].
func (s *Scheme) Compose(p Parts) (ID, error) {
	if p.Tick < 0 || p.Tick > s.MaxTick() {
		return 0, fmt.Errorf("%w: tick %d; the %d time bits hold 0 to %d", ErrLifetime, p.Tick, s.timeBits, s.MaxTick())
	}
	for _, f := range []struct {
		name  string
		value int64
		bits  uint8
	}{
		{FieldNode, p.Node, s.nodeBits},
		{FieldSequence, p.Sequence, s.seqBits},
		{FieldRollback, p.Rollback, s.rollBits},
		{FieldScatter, p.Scatter, s.scatterBits},
		{FieldTag, p.Tag, s.tagBits},
	} {
		if uint64(f.value)>>f.bits != 0 { // a negative one, too
			return 0, fmt.Errorf("%w: %s %d; its %d bits hold 0 to %d",
				ErrInvalidID, f.name, f.value, f.bits, uint64(1)<<f.bits-1)
		}
	}
	return s.encryptID(s.compose(p)), nil
}

// compose places parts that fit in a raw ID, not encrypted, with the number
// of the current secret.
func (s *Scheme) compose(p Parts) ID {
	key := uint64(max(len(s.perms)-1, 0))
	return ID(key<<s.keyShift | uint64(p.Tick)<<s.timeShift | uint64(p.Sequence)<<s.seqShift |
		uint64(p.Rollback)<<s.rollShift | uint64(p.Scatter)<<s.scatterShift | uint64(p.Tag)<<s.tagShift |
		s.placeNode(p.Node))
}

// placeNode spreads a node number over its parts.
func (s *Scheme) placeNode(node int64) uint64 {
	var id uint64
	n := uint64(node)
	for _, f := range slices.Backward(s.parts) {
		id |= n & f.mask() << f.shift
		n >>= f.Bits
	}
	return id
}

// Decode takes an ID apart, and decrypts it first if needed. An ID with a
// bit above the layout's highest is an [ErrInvalidID]: it was made with
// another layout or secret. [Scheme.Check] finds more.
func (s *Scheme) Decode(id ID) (Parts, error) {
	raw, _, err := s.decryptID(id)
	if err != nil {
		return Parts{}, err
	}
	u := uint64(raw)
	var p Parts
	for _, f := range s.placed {
		v := u >> f.shift & f.mask()
		switch f.Name {
		case FieldTime:
			p.Tick = int64(v)
		case FieldSequence:
			p.Sequence = int64(v)
		case FieldRollback:
			p.Rollback = int64(v)
		case FieldKey:
			p.Key = int(v)
		case FieldScatter:
			p.Scatter = int64(v)
		case FieldTag:
			p.Tag = int64(v)
		default:
			p.Node = p.Node<<f.Bits | int64(v)
		}
	}
	p.Time = s.layout.timeOf(uint64(p.Tick))
	return p, nil
}

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
	case uint64(tag)>>s.tagBits != 0: // a negative one, too
		return fmt.Errorf("%w: tag %d; its %d bits hold 0 to %d", ErrInvalidID, tag, s.tagBits, uint64(1)<<s.tagBits-1)
	}
	return nil
}
