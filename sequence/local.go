package sequence

import "context"

// maxBlock makes the share of a block's atomic step in each number small.
const maxBlock = 1024

// Local is a handle on a sequence for one goroutine. It takes numbers in
// blocks, so that goroutines do not compete for one word of memory. The
// numbers of one handle rise, the numbers of several come in any order. It
// is not safe for concurrent use, and needs no Close. Its numbers stay good
// after the sequence is closed. Those that it never gives out are a gap.
type Local struct {
	at, last, step int64 // the number given out last, and the last one of the block
	size           int64 // of the last block
	most           int64
	s              *Sequence

	_ [64]byte // handles of different goroutines stay off each other's cache lines
}

// Local returns a new handle. Only a fast sequence gives it blocks: in
// other modes its Next calls the sequence's Next.
func (s *Sequence) Local() *Local {
	l := &Local{step: s.step, most: 1, s: s}
	if !s.dense && !s.exact {
		l.most = maxBlock
	}
	return l
}

// Next returns a number, as [Sequence.Next] does.
func (l *Local) Next(ctx context.Context) (_ int64, err error) {
	if l.at == l.last {
		err = l.takeBlock(ctx)
	}
	l.at += l.step // small enough that the compiler puts Next into its caller
	return l.at, err
}

// takeBlock takes the next block, twice as large as the last one. Without
// one, 0 comes next.
func (l *Local) takeBlock(ctx context.Context) error {
	size := min(max(1, 2*l.size), l.most)
	got, ok := l.s.cur.Load().takeSome(size)
	if !ok {
		var err error
		if got, err = l.s.waitFor(ctx, size, false); err != nil {
			l.at, l.last = -l.step, 0
			return err
		}
	}
	l.size = size
	l.at = got.firstNumber(l.step) - l.step
	l.last = l.at + l.step*got.len()
	return nil
}
