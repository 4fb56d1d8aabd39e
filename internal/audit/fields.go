package audit

import (
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// fields takes words apart as a scheme does, but faster.
type fields struct {
	scheme *snowfence.Scheme
	layout snowfence.Layout
	width  int

	timeShift int
	seqShift  int
	timeMask  uint64
	seqMask   uint64
	node      []bitRun
	nodeBits  int

	// above means that fields stand above the time, so that IDs are in
	// order where their times are.
	above bool

	// plain is the same layout without encryption. It is nil unless only
	// the scheme can take the words apart.
	plain *snowfence.Scheme
}

// bitRun is bits of the node that lie together.
type bitRun struct {
	shift int
	bits  int
}

func newFields(s *snowfence.Scheme) (*fields, error) {
	f := &fields{scheme: s, layout: s.Layout()}
	f.width = f.layout.Width()
	f.nodeBits = f.layout.Bits(snowfence.FieldNode)
	shift := f.width
	for _, field := range f.layout.Fields {
		shift -= field.Bits
		mask := uint64(1)<<field.Bits - 1
		switch field.Name {
		case snowfence.FieldTime:
			f.timeShift, f.timeMask = shift, mask
			f.above = shift+field.Bits < f.width-f.layout.Bits(snowfence.FieldKey)
		case snowfence.FieldSequence:
			f.seqShift, f.seqMask = shift, mask
		case snowfence.FieldRollback, snowfence.FieldKey, snowfence.FieldScatter, snowfence.FieldTag:
		default:
			if n := len(f.node); n > 0 && f.node[n-1].shift == shift+field.Bits {
				f.node[n-1] = bitRun{shift, f.node[n-1].bits + field.Bits}
			} else {
				f.node = append(f.node, bitRun{shift, field.Bits})
			}
		}
	}
	if s.Encrypted() {
		bare := s.Layout() // fields of its own
		bare.Cipher = snowfence.Plain
		bare.Fields = slices.DeleteFunc(bare.Fields,
			func(field snowfence.Field) bool { return field.Name == snowfence.FieldKey })
		plain, err := snowfence.NewScheme(bare)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		f.plain = plain
	}
	return f, nil
}

// evenWidth is the number of low bits of an ID below the number of the key.
func (f *fields) evenWidth() int {
	if f.layout.Cipher == snowfence.SPARX {
		return 64 // whatever the layout leaves free
	}
	return f.width - f.layout.Bits(snowfence.FieldKey)
}

func (f *fields) tick(w uint64) uint64 { return w >> f.timeShift & f.timeMask }
func (f *fields) seq(w uint64) uint64  { return w >> f.seqShift & f.seqMask }

func (f *fields) nodeOf(w uint64) uint64 {
	var node uint64
	for _, r := range f.node {
		node = node<<r.bits | w>>r.shift&(1<<r.bits-1)
	}
	return node
}

// foreign reports whether a word has bits above the layout's.
func (f *fields) foreign(w uint64) bool { return w>>f.width != 0 }

// decryptAll counts encrypted words, compares their order before
// encryption, and returns how many are not of the layout.
func (f *fields) decryptAll(at int64, words []uint64, t *tally, o *order, limit int) (foreign int64) {
	for i, w := range words {
		parts, err := f.scheme.Decode(snowfence.ID(w))
		if err != nil {
			foreign++
			continue
		}
		parts.Key = 0
		raw, err := f.plain.Compose(parts)
		if err != nil {
			foreign++
			continue
		}
		t.one(uint64(raw))
		o.next(at+int64(i), word{f.orderOf(uint64(raw)), w}, limit)
	}
	return foreign
}

// orderOf returns what rises from one ID to the next.
func (f *fields) orderOf(w uint64) uint64 {
	if f.above {
		return f.tick(w)
	}
	return w
}
