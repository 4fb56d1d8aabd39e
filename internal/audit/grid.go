package audit

// axis divides numbers of unknown range into a fixed number of bins. Their width
// is a power of two and doubles when needed. Bins start at multiples of it, so
// axes of one width agree.
type axis struct {
	bins  uint64
	shift int    // log2 of the width
	base  uint64 // the first bin, counted in widths from zero
}

func (a axis) start(bin int) uint64 { return (a.base + uint64(bin)) << a.shift }

// fit returns the axis with a bin for v, and for bins lo to hi of a (none if lo > hi).
func (a axis) fit(v uint64, lo, hi int) axis {
	first, last := v>>a.shift, v>>a.shift
	if lo <= hi {
		first, last = min(first, a.base+uint64(lo)), max(last, a.base+uint64(hi))
	}
	for last-first >= a.bins {
		first, last = first>>1, last>>1
		a.shift++
	}
	// Most of the free room is above, because time goes up.
	spare := a.bins - (last - first + 1)
	a.base = first - min(spare/4, first)
	return a
}

// grid counts pairs of numbers in cells. A single row is a histogram.
type grid struct {
	x, y  axis
	cells []int64 // row by row
}

func newGrid(columns, rows int) *grid {
	return &grid{x: axis{bins: uint64(columns)}, y: axis{bins: uint64(rows)}, cells: make([]int64, columns*rows)}
}

func (g *grid) add(x, y uint64) {
	i, j := x>>g.x.shift-g.x.base, y>>g.y.shift-g.y.base
	if i >= g.x.bins || j >= g.y.bins {
		left, right, low, high := g.used()
		g.resize(g.x.fit(x, left, right), g.y.fit(y, low, high))
		i, j = x>>g.x.shift-g.x.base, y>>g.y.shift-g.y.base
	}
	g.cells[j*g.x.bins+i]++
}

// resize changes the axes to others that have bins for all counts.
func (g *grid) resize(x, y axis) {
	old := *g
	g.x, g.y = x, y
	g.cells = make([]int64, len(old.cells))
	for k, n := range old.cells {
		if n != 0 {
			x, y := old.x.start(k%int(x.bins)), old.y.start(k/int(x.bins))
			g.cells[(y>>g.y.shift-g.y.base)*g.x.bins+x>>g.x.shift-g.x.base] += n
		}
	}
}

// used returns the first and last column and row with a count; 0 to −1 for none.
func (g *grid) used() (left, right, low, high int) {
	columns := int(g.x.bins)
	left, right, low, high = columns, -1, len(g.cells)/columns, -1
	for k, n := range g.cells {
		if n != 0 {
			left, right = min(left, k%columns), max(right, k%columns)
			low, high = min(low, k/columns), max(high, k/columns)
		}
	}
	if right < 0 {
		return 0, -1, 0, -1
	}
	return left, right, low, high
}
