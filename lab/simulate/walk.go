package simulate

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// changeInChains has the operator change the layout a few times, one soon after
// the other: two changes that are safe by themselves may repeat the layout
// before the last.
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

// drawLayout returns a layout to change to: the namespace's, an earlier one, or
// nearly so. Its epoch may be some seconds younger or older, it may use half of
// the sequence numbers, and a bit may move between node and sequence. Nil where
// the first layout does not allow that.
func (s *sim) drawLayout(chance *rand.Rand) *snowfence.Scheme {
	l := s.schemes[chance.IntN(len(s.schemes))].Layout()
	n := len(l.Fields)
	if l.Cipher != snowfence.Plain || n != 3 || l.Fields[n-1].Name != snowfence.FieldSequence {
		return nil
	}
	fields := slices.Clone(l.Fields)
	if move := []int{0, 0, 0, 1, -1}[chance.IntN(5)]; 1<<(fields[n-2].Bits-move) > s.last && fields[n-1].Bits+move > 2 {
		fields[n-2].Bits -= move
		fields[n-1].Bits += move
	}
	l.Fields = fields
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

// changeLayout asks for a layout until the namespace has it or refuses it.
func (s *sim) changeLayout(ctx context.Context, st store.Store, to *snowfence.Scheme) {
	s.targets = append(s.targets, to)
	for range 5 {
		_, err := lease.Namespaces(st).Change(ctx, namespace, to, nil)
		if err == nil || s.namespaceState() != lease.Changing {
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
