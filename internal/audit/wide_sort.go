package audit

import (
	"cmp"
	"slices"
	"sync"
)

// wideRecord is an ID and where it came.
type wideRecord struct {
	id Wide
	at int64
}

const (
	wideRecordWords = 4
	wideRecordSize  = 8 * wideRecordWords

	// wideBuffer is how many records of a run are read from the file at once.
	wideBuffer = 1 << 11
)

func (r wideRecord) compare(s wideRecord) int {
	return cmp.Or(r.id.Compare(s.id), cmp.Compare(r.at, s.at))
}

// wideSorter keeps records in sorted runs: in memory up to a limit, and beyond it in a file.
// What is in memory at once becomes one run of the file.
type wideSorter struct {
	dir    string
	chunk  int // records of a run in memory
	limit  int // records in memory
	fresh  []wideRecord
	runs   [][]wideRecord
	free   [][]wideRecord // of runs that have been written
	sorts  sync.WaitGroup
	slots  chan struct{} // one for each sort that may run at a time
	file   *tempFile
	end    int64 // of the file, in words
	stored []region
}

func newWideSorter(dir string, chunk, limit int) *wideSorter {
	return &wideSorter{dir: dir, chunk: chunk, limit: limit, slots: make(chan struct{}, workers())}
}

func (s *wideSorter) add(r wideRecord) error {
	if len(s.fresh) == cap(s.fresh) {
		s.grow()
	}
	if s.fresh = append(s.fresh, r); len(s.fresh) < s.chunk {
		return nil
	}
	s.flush()
	if (len(s.runs)+1)*s.chunk > s.limit {
		return s.spill()
	}
	return nil
}

// grow makes room for more records, in steps while there are few.
func (s *wideSorter) grow() {
	switch n := len(s.free); {
	case n > 0 && len(s.fresh) == 0:
		s.fresh, s.free = s.free[n-1][:0], s.free[:n-1]
	case len(s.runs) > 0 || len(s.stored) > 0:
		s.fresh = slices.Grow(s.fresh, s.chunk)
	default:
		s.fresh = slices.Grow(s.fresh, min(s.chunk-len(s.fresh), max(64, len(s.fresh))))
	}
}

// flush sorts the fresh records while others come.
func (s *wideSorter) flush() {
	run := s.fresh
	s.fresh = nil
	if len(run) == 0 {
		return
	}
	s.runs = append(s.runs, run)
	s.slots <- struct{}{}
	s.sorts.Go(func() {
		slices.SortFunc(run, wideRecord.compare)
		<-s.slots
	})
}

// spill writes all that is in memory to the file, as one run.
func (s *wideSorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = newTempFile(s.dir); err != nil {
			return err
		}
	}
	s.sorts.Wait()
	start := s.end
	var words []uint64
	write := func() error {
		if err := s.file.writeAt(words, s.end); err != nil {
			return err
		}
		s.end += int64(len(words))
		words = words[:0]
		return nil
	}
	err = mergeRuns(memoryRuns(s.runs), func(r wideRecord) error {
		words = append(words, r.id[0], r.id[1], r.id[2], uint64(r.at))
		if len(words) < wideBuffer*wideRecordWords {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	s.stored = append(s.stored, region{s.file, start, s.end - start})
	s.free = append(s.free, s.runs...)
	s.runs = nil
	return err
}

// each calls yield with all records in their order. Nothing is added afterwards.
func (s *wideSorter) each(yield func(wideRecord) error) error {
	s.flush()
	s.sorts.Wait()
	s.free = nil
	runs := memoryRuns(s.runs)
	for _, part := range s.stored {
		runs = append(runs, &wideRun{part: part})
	}
	return mergeRuns(runs, yield)
}

func (s *wideSorter) close() error {
	s.sorts.Wait()
	s.fresh, s.runs, s.free, s.stored = nil, nil, nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.close()
}

// wideRun reads one sorted run, from memory or from a part of a file.
type wideRun struct {
	now  wideRecord // the next record, if the run has one
	rest []wideRecord
	part region // what is not read yet
	read int64  // words
	buf  buffer
	mine []wideRecord
}

func memoryRuns(runs [][]wideRecord) (out []*wideRun) {
	for _, r := range runs {
		out = append(out, &wideRun{rest: r})
	}
	return out
}

// next moves to the next record, and says whether there is one.
func (r *wideRun) next() (bool, error) {
	if len(r.rest) == 0 && r.read < r.part.n {
		words, err := r.part.load(&r.buf, r.read, int(min(r.part.n-r.read, wideBuffer*wideRecordWords)))
		if err != nil {
			return false, err
		}
		r.read += int64(len(words))
		r.mine = r.mine[:0]
		for ; len(words) > 0; words = words[wideRecordWords:] {
			r.mine = append(r.mine, wideRecord{Wide(words[:3]), int64(words[3])})
		}
		r.rest = r.mine
	}
	if len(r.rest) == 0 {
		return false, nil
	}
	r.now, r.rest = r.rest[0], r.rest[1:]
	return true, nil
}

// mergeRuns calls yield with the records of all runs in their order. The runs are a heap by their
// next record.
func mergeRuns(all []*wideRun, yield func(wideRecord) error) error {
	var heap []*wideRun
	for _, r := range all {
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			heap = append(heap, r)
		}
	}
	slices.SortFunc(heap, func(a, b *wideRun) int { return a.now.compare(b.now) })
	for len(heap) > 0 {
		if err := yield(heap[0].now); err != nil {
			return err
		}
		if ok, err := heap[0].next(); err != nil {
			return err
		} else if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap)
	}
	return nil
}

// sink moves the first run down to its place.
func sink(heap []*wideRun) {
	for i := 0; ; {
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if other := least + 1; other < len(heap) && heap[other].now.compare(heap[least].now) < 0 {
			least = other
		}
		if heap[i].now.compare(heap[least].now) <= 0 {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
