package audit

// repeat is how often a number is there.
type repeat struct {
	key   uint64
	count int64
	at    int64 // of the first, if the words are as they came
}

// gap is two neighbours in sorted words with others missing between them.
type gap struct{ after, before uint64 }

func (g gap) missing() uint64 { return g.before - g.after - 1 }

// tidy is what is known of sorted words.
type tidy struct {
	limit   int // of lists
	counter counter

	n        int64
	last     repeat // the last word; it is not in the counts yet
	distinct int64
	repeats  int64    // words that are there more than once
	list     []repeat // the first of these
	gaps     int64
	missing  uint64
	first    []gap // the lowest gaps
}

// counter says how numbers count up; 0 means that nothing is known of it.
// Else words are alike in the bits above so many where they are of one
// period, and count from 0 below.
type counter int

// start returns the word before the first one of the period.
func (c counter) start(w uint64) uint64 { return w>>c<<c - 1 }

// between returns two words that others are missing between. A period that
// begins misses nothing of the one before.
func (c counter) between(after, before uint64) gap {
	if c > 0 && after>>c != before>>c {
		after = c.start(before)
	}
	return gap{after, before}
}

// add looks at the words that follow.
func (t *tidy) add(words []uint64) {
	for _, w := range words {
		if t.n++; t.n > 1 && w == t.last.key {
			t.last.count++
			continue
		}
		switch {
		case t.n > 1 && w-t.last.key > 1:
			t.gap(t.counter.between(t.last.key, w))
		case t.n == 1 && t.counter > 0:
			t.gap(gap{t.counter.start(w), w})
		}
		t.close()
		t.last = repeat{w, 1, t.n - 1}
	}
}

// close counts the last word, after which there is another one or none.
func (t *tidy) close() {
	r := t.last
	if r.count == 0 {
		return
	}
	t.distinct++
	if r.count > 1 {
		t.repeats++
		if len(t.list) < t.limit {
			t.list = append(t.list, r)
		}
	}
}

func (t *tidy) gap(g gap) {
	if g.missing() == 0 {
		return
	}
	t.gaps++
	if len(t.first) < t.limit {
		t.first = append(t.first, g)
	}
	t.missing += g.missing()
}
