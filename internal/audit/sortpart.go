package audit

import "sync/atomic"

// streams is how many places a worker writes at a time: what caches and page
// tables bear.
const streams = 2048

// sortPart copies the words of a part out by buckets, then sorts and scans each
// bucket in the cache.
func (s *sorter) sortPart(p pieces, b *buckets, part part) error {
	if s.area == nil {
		s.area = make([]uint64, min(int64(s.capacity), s.auditor.store.n))
	}
	r := b.spanOf(part.first, part.last)
	wide := 0 // log2 of how many buckets become one
	for (part.last-part.first)>>wide >= streams {
		wide++
	}
	count := (part.last-part.first)>>wide + 1
	starts := make([]int, count+1)
	next := make([][]int, p.workers) // where each worker writes next, by bucket
	for w := range next {
		next[w] = make([]int, count)
	}
	at := 0
	for i := range count {
		starts[i] = at
		for w := range next {
			next[w][i] = at
			for j := part.first + i<<wide; j <= min(part.last, part.first+(i+1)<<wide-1); j++ {
				at += int(b.counts[w][j])
			}
		}
	}
	starts[count] = at
	err := p.each(s.ctx, func(worker, _ int, _ int64, words []uint64) error {
		to := next[worker]
		for _, w := range words {
			if r.has(w) {
				i := (w - r.lo) >> b.shift >> wide
				s.area[to[i]] = w
				to[i]++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	found := make([]*tidy, count)
	var bucket atomic.Int64
	err = parallel(workers(), func(int) error {
		scratch := make([]uint64, min(s.auditor.size.scratch, at))
		for i := int(bucket.Add(1)) - 1; i < count && s.ctx.Err() == nil; i = int(bucket.Add(1)) - 1 {
			words := s.area[starts[i]:starts[i+1]]
			sortWords(words, scratch)
			found[i] = scan(words, s.auditor.fields, s.unit(), s.auditor.o.Limit, s.total.counter)
			s.progress.add(len(words))
		}
		return s.ctx.Err()
	})
	if err != nil {
		return err
	}
	for _, t := range found {
		s.total.push(t)
	}
	return nil
}
