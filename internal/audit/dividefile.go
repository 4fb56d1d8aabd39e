package audit

import "errors"

// divideFile writes the words of each part into its own region of a new file, and
// then takes the regions one by one. It knows how many words each worker has for
// each part, so all write at the same time.
func (s *sorter) divideFile(p pieces, b *buckets, list []part) (err error) {
	file, err := newTempFile(s.auditor.o.TempDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.close()) }()

	owner := make([]int32, b.len()) // the part of each bucket
	regions := make([]region, len(list))
	next := make([][]int64, p.workers) // where each worker writes next, by part
	for w := range next {
		next[w] = make([]int64, len(list))
	}
	at := int64(0)
	for i, part := range list {
		regions[i] = region{file: file, start: at, n: part.n}
		for w := range next {
			next[w][i] = at
			for j := part.first; j <= part.last; j++ {
				at += b.counts[w][j]
				owner[j] = int32(i)
			}
		}
	}
	if err := s.writeRegions(p, b, file, owner, next); err != nil {
		return err
	}
	for i, part := range list {
		// Another look shows how the part is spread over its span and the
		// workers.
		sub := newPieces(regions[i], s.auditor.size.piece)
		if err := s.divide(sub, b.spanOf(part.first, part.last), part.n, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) writeRegions(p pieces, b *buckets, file *tempFile, owner []int32, next [][]int64) error {
	parts := len(next[0])
	// The buffers are in the area for sorting, which is free now.
	s.area = nil
	room := min(max(s.capacity/(parts*p.workers), 64), 1<<15)
	pending := make([][][]uint64, p.workers)
	bytes := make([][]byte, p.workers)
	for w := range pending {
		pending[w] = make([][]uint64, parts)
	}
	write := func(worker, i int) error {
		words := pending[worker][i]
		bytes[worker] = appendWords(bytes[worker][:0], words)
		err := file.writeBytes(bytes[worker], next[worker][i])
		next[worker][i] += int64(len(words))
		pending[worker][i] = words[:0]
		return err
	}
	err := p.each(s.ctx, func(worker, _ int, _ int64, words []uint64) error {
		for _, w := range words {
			if !b.has(w) {
				continue
			}
			i := owner[(w-b.lo)>>b.shift]
			words := pending[worker][i]
			if cap(words) == 0 {
				words = make([]uint64, 0, room)
			}
			words = append(words, w)
			pending[worker][i] = words
			if len(words) == room {
				if err := write(worker, int(i)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for w := range pending {
		for i := range pending[w] {
			if err := write(w, i); err != nil {
				return err
			}
		}
	}
	return nil
}
