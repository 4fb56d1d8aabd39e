package audit

import "math/bits"

// wideEven tests the random bits of wide IDs, in groups of up to 64.
type wideEven struct{ groups []*wideGroup }

// wideGroup is some of these bits, as if they were an ID of their own.
type wideGroup struct {
	spans   []wideSpan
	width   int
	words   []uint64
	started bool
	first   uint64
	uniform *uniform
	serial  serial
	ones    ones
}

// wideSpan is bits that stand side by side in a word.
type wideSpan struct{ word, shift, width int }

func newWideEven(mask Wide) *wideEven {
	e := &wideEven{}
	for word, w := range mask {
		for w != 0 {
			top := 63 - bits.LeadingZeros64(w)
			run := bits.LeadingZeros64(^(w << (63 - top)))
			n := len(e.groups) - 1
			if n < 0 || e.groups[n].width == 64 {
				e.groups = append(e.groups, &wideGroup{})
				n++
			}
			g := e.groups[n]
			take := min(run, 64-g.width)
			shift := top + 1 - take
			g.spans = append(g.spans, wideSpan{word, shift, take})
			g.width += take
			w &^= ^uint64(0) >> (64 - take) << shift
		}
	}
	for _, g := range e.groups {
		g.uniform = newUniform(g.width, 0)
		g.uniform.tables(1)
	}
	return e
}

func (e *wideEven) add(ids []Wide) {
	for _, g := range e.groups {
		g.add(ids)
	}
}

func (g *wideGroup) add(ids []Wide) {
	if len(ids) == 0 {
		return
	}
	g.words = g.words[:0]
	for _, id := range ids {
		v := uint64(0)
		for _, s := range g.spans {
			v = v<<s.width | id[s.word]>>s.shift&(^uint64(0)>>(64-s.width))
		}
		g.words = append(g.words, v)
	}
	if !g.started {
		g.started, g.first = true, g.words[0]
		g.serial.look(g.words, g.first, ^uint64(0))
	} else {
		var s serial
		s.look(g.words, g.first, ^uint64(0))
		g.serial.join(&s)
	}
	g.uniform.add(0, g.words)
	g.ones.add(g.words)
}

func (e *wideEven) result(n int64) (out []Uniformity) {
	for _, g := range e.groups {
		out = append(out, g.uniform.result(n, &g.serial, &g.ones))
	}
	return out
}
