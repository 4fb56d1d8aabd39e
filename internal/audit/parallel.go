package audit

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel runs work(worker) on n goroutines, waits, and returns the error of the
// first worker with one.
func parallel(n int, work func(worker int) error) error {
	if n == 1 {
		return work(0)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() { errs[w] = work(w) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pieces divides a source among workers. Piece i belongs to worker i modulo their
// number, so a worker meets in each pass what it counted before.
type pieces struct {
	src     source
	size    int
	workers int
}

func newPieces(src source, size int) pieces {
	p := pieces{src: src, size: size}
	p.workers = max(1, min(workers(), p.count()))
	return p
}

func (p pieces) count() int { return int((p.src.len() + int64(p.size) - 1) / int64(p.size)) }

// each calls visit for every piece, with the position of its first word.
func (p pieces) each(ctx context.Context, visit func(worker, piece int, at int64, words []uint64) error) error {
	count := p.count()
	var failed atomic.Bool
	return parallel(p.workers, func(worker int) error {
		var buf buffer
		for i := worker; i < count && !failed.Load(); i += p.workers {
			at := int64(i) * int64(p.size)
			words, err := p.src.load(&buf, at, int(min(int64(p.size), p.src.len()-at)))
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = visit(worker, i, at, words)
			}
			if err != nil {
				failed.Store(true)
				return err
			}
		}
		return nil
	})
}

// progress reports the share of the work that is done.
type progress struct {
	report func(done, total int64)
	done   atomic.Int64
	total  int64
}

func newProgress(report func(done, total int64), total int64) *progress {
	return &progress{report: report, total: total}
}

func (p *progress) add(n int) {
	done := p.done.Add(int64(n))
	if p.report != nil {
		p.report(done, p.total)
	}
}
