package audit

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
)

// sorter looks at all words in their order as numbers.
type sorter struct {
	ctx         context.Context
	auditor     *Auditor
	evenness    *evenness // nil where it is of no use
	done, total int64     // words looked at
}

func workers() int { return min(runtime.GOMAXPROCS(0), 8) }

// progress says how far it is.
func (s *sorter) progress(n int) error {
	s.done += int64(n)
	if report := s.auditor.o.Progress; report != nil {
		report(s.done, s.total)
	}
	return s.ctx.Err()
}

// run gives t all words, sorted.
func (s *sorter) run(t *tidy) (err error) {
	a := s.auditor
	inOrder := a.survey.words.falls == 0
	var area []uint64
	var runs []*run
	var file *tempFile
	defer func() {
		if file != nil {
			err = errors.Join(err, file.close())
		}
	}()
	room := a.o.Memory / 8
	if a.store.file == nil {
		room = a.store.n
	}
	// save makes room by writing what is there, sorted.
	save := func() (err error) {
		if file == nil {
			if file, err = newTempFile(a.o.TempDir); err != nil {
				return err
			}
		}
		for _, words := range sortParts(area) {
			r := &run{file: file, at: file.n}
			if err := file.append(words); err != nil {
				return err
			}
			r.end = file.n
			runs = append(runs, r)
		}
		area = area[:0]
		return nil
	}
	err = a.store.each(func(_ int64, words []uint64) error {
		if s.evenness != nil {
			s.evenness.add(words, a.flip)
		}
		if inOrder {
			t.add(words)
			return s.progress(2 * len(words))
		}
		if err := s.progress(len(words)); err != nil {
			return err
		}
		if int64(len(area)+len(words)) > room {
			if err := save(); err != nil {
				return err
			}
		}
		if area == nil {
			area = make([]uint64, 0, room)
		}
		area = append(area, words...)
		return nil
	})
	if err != nil || inOrder {
		return err
	}
	if file == nil {
		for _, words := range sortParts(area) {
			runs = append(runs, &run{words: words})
		}
		return s.merge(runs, t)
	}
	if err := save(); err != nil {
		return err
	}
	return s.merge(runs, t)
}

// sortParts sorts words in parts, one for each processor.
func sortParts(words []uint64) [][]uint64 {
	if len(words) == 0 {
		return nil
	}
	n := workers()
	parts := slices.Collect(slices.Chunk(words, (len(words)+n-1)/n))
	var wg sync.WaitGroup
	for _, part := range parts {
		wg.Go(func() { slices.Sort(part) })
	}
	wg.Wait()
	return parts
}

// run is sorted words: first in memory, and then in a file.
type run struct {
	words   []uint64
	file    *tempFile
	at, end int64
	buf     []uint64
}

// fill reads more words, if there are any.
func (r *run) fill(size int) (err error) {
	if len(r.words) == 0 && r.at < r.end {
		if r.buf == nil {
			r.buf = make([]uint64, size)
		}
		r.words = r.buf[:min(int64(size), r.end-r.at)]
		err = r.file.read(r.words, r.at)
		r.at += int64(len(r.words))
	}
	return err
}

// merge gives t the words of all runs in their order.
func (s *sorter) merge(runs []*run, t *tidy) error {
	const batch = 4096
	size := int(min(max(s.auditor.o.Memory/8/int64(len(runs)+1), 64), 1<<16))
	var heap []*run // the one with the lowest word is first
	for _, r := range runs {
		if err := r.fill(size); err != nil {
			return err
		}
		heap = append(heap, r)
	}
	for i := len(heap) / 2; i >= 0; i-- {
		sink(heap, i)
	}
	out := make([]uint64, 0, batch)
	for len(heap) > 0 {
		r := heap[0]
		out = append(out, r.words[0])
		if r.words = r.words[1:]; len(r.words) == 0 {
			if err := r.fill(size); err != nil {
				return err
			}
			if len(r.words) == 0 {
				heap[0] = heap[len(heap)-1]
				heap = heap[:len(heap)-1]
			}
		}
		sink(heap, 0)
		if len(out) == batch || len(heap) == 0 {
			t.add(out)
			if err := s.progress(len(out)); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return nil
}

// sink moves a run down to its place in a heap.
func sink(heap []*run, i int) {
	for {
		least, low := i, uint64(math.MaxUint64)
		if i < len(heap) {
			low = heap[i].words[0]
		}
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && heap[child].words[0] < low {
				least, low = child, heap[child].words[0]
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
