package simulate

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// changeInChains has the operator change the layout a few times, one soon
// after the other: two changes that are safe by themselves may repeat the
// layout before the last.
func (s *sim) changeInChains() {
	p := s.operator
	for range 1 + p.programRand.IntN(3) {
		if to := s.drawLayout(p.programRand); to != nil {
			ctx, cancel := p.WithTimeout(world.With(context.Background(), p), 4*s.ttl)
			s.changeLayout(ctx, link{p: p}, to)
			cancel()
		}
		p.sleepFor(time.Duration(p.programRand.Int64N(int64(6 * s.ttl))))
		if s.calm {
			return
		}
	}
}

// drawLayout returns a layout to change to: the namespace's, an earlier
// one, or nearly so. Its epoch may be some seconds younger or older, it may
// use half of the sequence numbers, and a bit may move between node and
// sequence. Nil where the first layout does not allow that.
func (s *sim) drawLayout(chance *rand.Rand) *snowfence.Scheme {
	l := s.schemes[chance.IntN(len(s.schemes))].Layout()
	fields := slices.Clone(l.Fields)
	n := len(fields)
	if l.Cipher != snowfence.Plain || n < 3 || fields[n-1].Name != snowfence.FieldSequence || n > 3 && !reshaped(l) {
		return nil
	}
	node := slices.IndexFunc(fields, func(f snowfence.Field) bool { return f.Name == l.NodeParts()[0].Name })
	move := []int{0, 0, 0, 1, -1}[chance.IntN(5)]
	if 1<<(fields[node].Bits-move) > s.last && fields[n-1].Bits+move > 2 {
		fields[node].Bits -= move
		fields[n-1].Bits += move
	}
	if l.Fields = fields; n > 3 && chance.IntN(2) == 0 {
		l.Fields = anyOrder(l, n-1, chance)
	}
	shift := time.Duration(1+chance.Int64N(int64(20*s.ttl/time.Millisecond))) * time.Millisecond
	l.Epoch = l.Epoch.Add([]time.Duration{0, shift, shift, -shift}[chance.IntN(4)])
	top := int64(1)<<fields[n-1].Bits - 1
	switch chance.IntN(4) {
	case 0:
		l.First, l.Last = 0, top
	case 1:
		l.First, l.Last = top/2+1, top
	default:
		l.First, l.Last = 0, top/2
	}
	to, err := snowfence.NewScheme(l)
	if err != nil {
		return nil
	}
	return to
}

// reshape returns a layout of the same nodes with scatter and tag, and its
// fields in any order.
func reshape(l snowfence.Layout, chance *rand.Rand) snowfence.Layout {
	l.Fields, l.Last = slices.Clone(l.Fields), 0
	seq := slices.IndexFunc(l.Fields, func(f snowfence.Field) bool { return f.Name == snowfence.FieldSequence })
	for _, name := range []string{snowfence.FieldScatter, snowfence.FieldTag} {
		for range chance.IntN(5) {
			switch i := slices.IndexFunc(l.Fields, func(f snowfence.Field) bool { return f.Name == name }); {
			case l.Width() == 63 && l.Fields[seq].Bits == 4:
			case i < 0:
				l.Fields = append(l.Fields, snowfence.Field{Name: name, Bits: 1})
			default:
				l.Fields[i].Bits++
			}
			if l.Width() > 63 {
				l.Fields[seq].Bits--
			}
		}
	}
	ordered := len(l.Fields)
	if seq == 2 && chance.IntN(2) == 0 { // operators can change such a layout
		ordered--
		l.Fields[seq], l.Fields[ordered] = l.Fields[ordered], l.Fields[seq]
	}
	l.Fields = anyOrder(l, ordered, chance)
	return l
}

// reshaped reports whether a layout has the additions of reshape.
func reshaped(l snowfence.Layout) bool {
	return l.Bits(snowfence.FieldScatter)+l.Bits(snowfence.FieldTag) > 0 && len(l.NodeParts()) == 1
}

// anyOrder returns the fields of a layout, the first n of them in any order
// that a layout can have.
func anyOrder(l snowfence.Layout, n int, chance *rand.Rand) []snowfence.Field {
	fields := slices.Clone(l.Fields)
	l.First, l.Last = 0, 0 // they may be of another width
	for {
		chance.Shuffle(n, func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		if l.Fields = fields; l.Validate() == nil {
			return fields
		}
	}
}

// changeLayout asks for a layout until the namespace has it or refuses it.
func (s *sim) changeLayout(ctx context.Context, st store.Store, to *snowfence.Scheme) {
	s.targets = append(s.targets, to)
	for range 5 {
		_, err := scope.Namespaces(st).Change(ctx, namespace, to, nil)
		if err == nil || s.namespaceState() != scope.Changing {
			return
		}
	}
}

// noteChange sees whether a write to the namespace was the last step of a
// change of its layout, which no program may have been told.
func (s *sim) noteChange() {
	ns, err := s.showNamespace()
	if err != nil || ns.Fingerprint == s.schemes[s.era].Fingerprint() {
		return
	}
	i := slices.IndexFunc(s.targets, func(to *snowfence.Scheme) bool { return to.Fingerprint() == ns.Fingerprint })
	if i < 0 {
		s.violate("the namespace has the layout %s, to which no operator changed it", ns.Layout)
		return
	}
	to := s.targets[i]
	s.traceLine("the layout is now %v, from tick %d", to.Layout(), ns.Floor)
	s.schemes, s.readers = append(s.schemes, to), append(s.readers, newReader(to))
	s.floors = append(s.floors, to.Layout().TimeOf(ns.Floor))
	s.era++
	s.figures.Layouts++
	s.backUpStore()
	for _, cs := range s.claims {
		for _, c := range cs {
			if c.era == s.era-1 {
				s.compareClaim(c)
			}
		}
	}
}

// backUpStore takes a backup of the store.
func (s *sim) backUpStore() {
	s.store.takeBackup()
	s.backupEra = s.era
}
