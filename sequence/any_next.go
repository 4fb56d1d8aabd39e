package sequence

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// hedge is how long the store in use may think before the others are asked, too.
const hedge = 100 * time.Millisecond

// Next returns a number. It waits for any store as long as ctx lasts, and returns at once what no
// store mends by waiting: [ErrEnded], [ErrRolledBack], [ErrNoSequence], [ErrClosed].
func (a *Any) Next(ctx context.Context) (int64, error) {
	p := a.cur.Load().cur.Load()
	before, step, count := p.before, p.step, p.count // as in Sequence.Next
	if i := p.next.Add(1); i <= count {
		return before + int64(i)*step, nil
	}
	return a.nextSlow(ctx)
}

func (a *Any) nextSlow(ctx context.Context) (int64, error) {
	s, got, err := a.wait(ctx, 1)
	if err != nil {
		return 0, err
	}
	return s.way.number(got.from), nil
}

// TryNext returns a number if it needs not wait, and else an [ErrNotReady]: then it asks all stores
// for the next call.
func (a *Any) TryNext() (int64, error) {
	p := a.cur.Load().cur.Load()
	before, step, count := p.before, p.step, p.count
	if i := p.next.Add(1); i <= count {
		return before + int64(i)*step, nil
	}
	v := a.look(nil)
	if s, got, ok := a.take(v, len(v.usable), 1); ok {
		return s.way.number(got.from), nil
	}
	if v.closed || v.final == len(a.members) {
		return 0, a.trouble()
	}
	return 0, fmt.Errorf("sequence %q: %w: try again, or use Next", a.name, ErrNotReady)
}

// Fill writes numbers to dst, and returns how many. It waits as [Any.Next] does; when it gives up,
// the first n are good.
func (a *Any) Fill(ctx context.Context, dst []int64) (n int, err error) {
	for n < len(dst) {
		more := min(int64(len(dst)-n), mostAtOnce)
		s := a.cur.Load()
		got, ok := s.cur.Load().some(more)
		if !ok {
			if s, got, err = a.wait(ctx, more); err != nil {
				return n, err
			}
		}
		n += s.way.write(dst[n:], got)
	}
	return n, nil
}

// wait takes up to n ordinals of any store. It asks the store in use first, and all others when
// that one is in trouble or slow, so that a program does not hold ranges of all stores for nothing.
func (a *Any) wait(ctx context.Context, n int64) (*Sequence, span, error) {
	seen, all := a.refusals(), false
	for {
		v := a.look(seen)
		ask := len(v.usable)
		if !all && !v.troubled {
			ask = min(ask, 1)
		}
		if s, got, ok := a.take(v, ask, n); ok {
			return s, got, nil
		}
		if v.refused == len(a.members) || v.closed {
			return nil, span{}, a.trouble()
		}
		timeout := hedge
		if all {
			timeout = longestPause
		}
		switch a.world.Wait(timeout, v.news, ctx.Done()) {
		case 1:
			return nil, span{}, fmt.Errorf("%w; the stores said last: %v", ctx.Err(), a.trouble())
		case -1:
			if all {
				seen = a.refusals() // what was refused may be mended by now
			}
			all = true
		}
	}
}

// take takes up to n ordinals that a store has at hand. If there are none, it asks so many of those
// that can be used.
func (a *Any) take(v view, ask int, n int64) (*Sequence, span, bool) {
	for _, s := range v.opened {
		if got, ok := s.held(n); ok {
			a.cur.Store(s)
			return s, got, true
		}
	}
	for _, s := range v.usable[:ask] {
		if got, err := s.ready(n); err == nil {
			a.cur.Store(s)
			return s, got, true
		}
	}
	return nil, span{}, false
}

// view is what is known of the stores at a moment.
type view struct {
	opened   []*Sequence     // the one in use is the first
	usable   []*Sequence     // those that may give numbers when they are asked
	refused  int             // how many stores refused since the caller asked
	final    int             // how many stores said last what no waiting mends
	troubled bool            // the first one has trouble
	news     <-chan struct{} // closed when a store says something after that moment
	closed   bool
}

// look returns what is known. A store that refused since the refusals in seen is not usable.
func (a *Any) look(seen []int) view {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := view{news: a.news, closed: a.closed}
	cur := max(0, slices.IndexFunc(a.members, func(m *member) bool { return m.seq == a.cur.Load() }))
	for i := range a.members {
		i = (cur + i) % len(a.members)
		m := a.members[i]
		if m.seq != nil {
			v.opened = append(v.opened, m.seq)
		}
		if final(m.err) {
			v.final++
			if m.seq == nil || seen != nil && m.refusals > seen[i] {
				v.refused++
				continue
			}
		}
		if m.seq != nil {
			v.troubled = v.troubled || len(v.usable) == 0 && m.err != nil
			v.usable = append(v.usable, m.seq)
		}
	}
	return v
}

// refusals returns how often each store refused until now.
func (a *Any) refusals() (all []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.members {
		all = append(all, m.refusals)
	}
	return all
}

// trouble says why no store gives numbers.
func (a *Any) trouble() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return fmt.Errorf("sequence %q: %w", a.name, ErrClosed)
	}
	err := fmt.Errorf("sequence %q: no store gives numbers", a.name)
	for _, m := range a.members {
		if m.err != nil {
			err = fmt.Errorf("%w; store %d of %d: %w", err, m.number, len(a.members), m.err)
		}
	}
	return err
}
