package process

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
)

// number is a static fence: it grants one node the ticks from a floor on to
// its one generator, which handles share.
type number struct {
	scheme *snowfence.Scheme
	node   int64
	opts   Options
	from   int64
	until  atomic.Int64 // only rises
	gen    *snowfence.Generator
	seal   func() int64
}

func (n *number) Scheme() *snowfence.Scheme { return n.scheme }

func (n *number) Bind(seal func() int64) (func(), error) {
	n.seal = seal
	return func() {}, nil
}

// Grant returns a grant that is over, too: the generator does not use its
// ticks.
func (n *number) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	if end := n.scheme.MaxTick(); after > end || n.from > end {
		return snowfence.Grant{}, fmt.Errorf("%w: the time bits ran out at %s: change the layout",
			snowfence.ErrLifetime, n.scheme.Layout().EndOfLife().Format(time.RFC3339))
	}
	return snowfence.Grant{Node: n.node, From: n.from, Until: n.until.Load()}, nil
}

func (n *number) Held(after int64) (snowfence.Grant, bool) {
	gr, err := n.Grant(context.Background(), after)
	return gr, err == nil && gr.Until > after
}

func (n *number) Release(context.Context, snowfence.Grant, int64) error { return nil }

// bare returns the generator of a bare number, with one user more.
func (s *set) bare(sch *snowfence.Scheme, node int64, o Options) (*use, error) {
	key, p, err := partOf(sch, snowfence.Grant{Node: node})
	if err != nil {
		return nil, err
	}
	if o.Until == 0 {
		o.Until = sch.MaxTick() + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.space(key)
	for u := range sp.uses {
		if n := u.number; n != nil && u.parts[0].same(p) && n.fits(sch, &o, u.users > 0) {
			s.reuse(u)
			u.users++
			return u, nil
		}
	}
	if sp.floor >= o.Until { // before others leave in vain
		return nil, fmt.Errorf("snowfence: this process used all times until the end, tick %d", o.Until)
	}
	n := &number{scheme: sch, node: node, opts: o, seal: func() int64 { return 0 }}
	u := &use{name: nodeName(sch, node), number: n, users: 1, seal: func() int64 { return n.seal() }}
	if n.from, err = s.enter(u, sp, p, o.From, true, o.Replace); err != nil {
		return nil, err
	}
	n.until.Store(o.Until)
	if n.gen, err = o.generator(n); err != nil {
		s.leave(u)
		return nil, err
	}
	return u, nil
}

// fits reports whether n is what o asks for. Two clocks cannot be compared,
// so a caller with one of its own shares with nobody.
func (n *number) fits(s *snowfence.Scheme, o *Options, used bool) bool {
	same := n.scheme.MaxTick() == s.MaxTick() && n.opts.From == o.From && n.until.Load() == o.Until
	return same && n.opts.Time == nil && o.Time == nil && (used || n.opts.Lead == o.Lead)
}
