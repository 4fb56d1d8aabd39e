package sequence

import "context"

// maxBlock makes the share of a block's atomic step in each number small.
const maxBlock = 1024

// Local is a handle on a sequence for one goroutine. It takes numbers in blocks, so that
// goroutines do not meet on one word. The numbers of one handle rise, those of several come in
// any order. It is not safe for concurrent use, and needs no Close. What it holds stays good when
// the sequence is closed, and is a gap when the handle is dropped.
type Local struct {
	at, last, step int64 // the number given out last, and the last one of the block
	size           int64 // of the last block
	most           int64
	s              *Sequence

	_ [64]byte // handles of different goroutines stay off each other's cache lines
}

// Local returns a new handle. Only a fast sequence gives it blocks: in other modes its Next is that
// of the sequence.
func (s *Sequence) Local() *Local {
	l := &Local{step: s.way.step, most: 1, s: s}
	if s.mode == Fast && !s.exact {
		l.most = maxBlock
	}
	return l
}

// Next returns a number, as [Sequence.Next] does.
func (l *Local) Next(ctx context.Context) (int64, error) {
	if l.at != l.last {
		l.at += l.step
		return l.at, nil
	}
	return l.refill(ctx)
}

// refill takes the next block, twice as large as the last one.
func (l *Local) refill(ctx context.Context) (int64, error) {
	size := min(max(1, 2*l.size), l.most)
	got, ok := l.s.cur.Load().some(size)
	if !ok {
		var err error
		if got, err = l.s.wait(ctx, size, false); err != nil {
			return 0, err
		}
	}
	l.size = size
	l.at, l.last = l.s.way.number(got.from), l.s.way.number(got.until-1)
	return l.at, nil
}
