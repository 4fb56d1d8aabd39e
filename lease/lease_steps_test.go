package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// over is a context that has ended.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A grant is answered from memory while it reaches far enough, and
// otherwise waited for; what is waited for is the highest tick that anybody
// needs.
func TestGrantFromMemory(t *testing.T) {
	g := holding(t)
	g.pace()
	g.now = g.now.Add(time.Minute) // a renewal could reach all ticks here
	until := g.l.use.cur.Until
	if grant, err := g.l.Grant(over(t), until-1); err != nil || grant.Until != until || g.l.demand.need != -1 ||
		!g.l.use.handed {
		t.Errorf("before the last tick: %+v, %v, needed past %d", grant, err, g.l.demand.need)
	}
	for _, c := range []struct{ after, need int64 }{{until, until}, {until + 9, until + 9}, {until + 2, until + 9}} {
		_, err := g.l.Grant(over(t), c.after)
		if !errors.Is(err, snowfence.ErrFenced) || !errors.Is(err, context.Canceled) || g.l.demand.need != c.need {
			t.Errorf("past tick %d: %v, needed past %d", c.after, err, g.l.demand.need)
		}
		says(t, err, "has not acknowledged a later grant yet", "past tick %d", c.after)
	}
	from := g.l.use.cur.From
	for _, c := range []struct {
		from    int64
		trouble error
		says    string
	}{
		{until - 1, nil, "has not acknowledged a later grant yet"},
		{until, nil, "node 5 has its first tick at"},
		{until, errSilent, errSilent.Error()},
	} {
		g.l.use.cur.From, g.l.trouble = c.from, c.trouble
		_, err := g.l.Grant(over(t), until)
		if !errors.Is(err, snowfence.ErrFenced) || c.trouble != nil && !errors.Is(err, c.trouble) ||
			!errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("with a grant from tick %d on, and %v: %v", c.from, c.trouble, err)
		}
	}
	g.l.use.cur.From = from
	last := g.l.setup.Scheme.MaxTick()
	g.l.use.cur.Until = last + 1
	if grant, err := g.l.Grant(over(t), last); err != nil || grant.Until != last+1 {
		t.Errorf("the last tick: %+v, %v", grant, err)
	}
	wantErr(t, errOf(g.l.Grant(over(t), last+1)), snowfence.ErrLifetime, "past the last tick")
	g.l.use.cur = nil
	if s := g.l.Status(); s.Held || !errors.Is(s.Trouble, errSilent) {
		t.Errorf("nothing is held: %+v", s)
	}
	g.l.end(ErrEnded)
	if _, err := g.l.Grant(over(t), 0); !errors.Is(err, ErrEnded) || errors.Is(err, snowfence.ErrFenced) {
		t.Errorf("after the end: %v", err)
	}
}

// A lease serves one generator at a time.
func TestOneGeneratorAtATime(t *testing.T) {
	g := holding(t)
	unbind, err := g.l.Bind(func() int64 { return 0 })
	g.must(err)
	wantErr(t, errOf(g.l.Bind(func() int64 { return 0 })), snowfence.ErrBound, "a second generator")
	unbind()
	unbind, err = g.l.Bind(func() int64 { return 0 })
	g.must(err)
	if _, ok := g.l.Held(-1); !ok {
		t.Error("the unused grant is not given out")
	}
	unbind() // without giving it back
	_, err = g.l.Bind(func() int64 { return 0 })
	g.must(err)
	if gr, ok := g.l.Held(-1); ok {
		t.Errorf("a second generator gets the grant of the first: %+v", gr)
	}
	g = holding(t)
	if _, ok := g.l.Held(-1); !ok {
		t.Error("a caller without a generator gets no grant")
	}
	_, err = g.l.Bind(func() int64 { return 0 })
	g.must(err)
	if gr, ok := g.l.Held(-1); ok {
		t.Errorf("a generator gets the grant of a caller before it: %+v", gr)
	}
}

// pinned is a store that is kept open for its leases.
type pinned struct {
	*scripted
	open int
	err  error
}

func (p *pinned) Pin(context.Context) (func(), error) {
	if p.err != nil {
		return nil, p.err
	}
	p.open++
	return sync.OnceFunc(func() { p.open-- }), nil
}

// Open acquires or fails, and a failed one lets go of the store.
func TestOpenOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(p *pinned, o *Options)
		nils bool
		want error
	}{
		"all is well":      {func(*pinned, *Options) {}, false, nil},
		"no store":         {func(*pinned, *Options) {}, true, errNoStore},
		"a wrong option":   {func(_ *pinned, o *Options) { o.TTL = time.Millisecond }, false, ErrInvalid},
		"not to be opened": {func(p *pinned, _ *Options) { p.err = errSilent }, false, errSilent},
		"no answer":        {func(p *pinned, _ *Options) { p.onGet = func([]store.Key) error { return errSilent } }, false, errSilent},
		"no answer at last": {func(p *pinned, _ *Options) {
			p.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		}, false, errSilent},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := empty(t, withRollback)
			p := &pinned{scripted: g.st}
			o := g.o
			c.hurt(p, &o)
			var st store.Store = p
			if c.nils {
				st = nil
			}
			l, err := Open(t.Context(), st, "n", g.l.setup.Scheme, &o)
			switch {
			case c.want == nil && (err != nil || !l.Status().Held || l.Status().Renewed.IsZero() || p.open != 1):
				t.Errorf("%s: %v", name, err)
			case c.want == errNoStore && err == nil,
				c.want != nil && c.want != errNoStore && !errors.Is(err, c.want), c.want != nil && p.open != 0:
				t.Errorf("%s: %v, and the store is kept open %d times", name, err, p.open)
			}
			if err == nil && l != nil {
				l.Orphan()
				synctest.Wait()
			}
		})
	}
}

var errNoStore = errors.New("any error")

// A lease whose grant begins ahead renews it when its first tick is near.
func TestPlanOfAGrantAhead(t *testing.T) {
	g := holding(t)
	for ahead, want := range map[time.Duration]time.Duration{
		time.Minute:      45*time.Second + time.Millisecond,
		16 * time.Second: time.Second + time.Millisecond,
		15 * time.Second: time.Millisecond,
	} {
		from := g.tick(ahead)
		g.l.use.cur = &snowfence.Grant{Node: 5, From: from, Until: from}
		g.l.demand.need, g.l.demand.used = -1, g.l.setup.World.Now()
		g.l.pace.renewAt, g.l.pace.earliest = g.l.setup.World.Now().Add(time.Hour), g.l.setup.World.Now()
		if _, ok := g.l.Held(-1); ok || g.l.Status().Held {
			t.Error("a grant without a tick that may be used was handed out")
		}
		if wait := g.l.plan(); wait > want || wait < want-time.Minute {
			t.Errorf("%v ahead: renewed in %v, not %v", ahead, wait, want)
		}
	}
}
