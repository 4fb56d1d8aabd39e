package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// clerk is a server that answers as it is told.
type clerk struct {
	errs    []error // of the next calls; nil after them
	calls   []string
	earlier []int // how many attempts had no answer, of each call
	used    []int64
	asked   []wire.Request
	grant   snowfence.Grant // of each answer
}

func (k *clerk) answer(what string, earlier int) (wire.Lease, error) {
	k.calls, k.earlier = append(k.calls, what), append(k.earlier, earlier)
	if len(k.errs) > 0 {
		err := k.errs[0]
		if k.errs = k.errs[1:]; err != nil {
			return wire.Lease{}, err
		}
	}
	return wire.Lease{Ticket: fmt.Append(nil, len(k.calls)), Grant: k.grant}, nil
}

func (k *clerk) Acquire(_ context.Context, _ string, r wire.Request) (wire.Lease, error) {
	k.asked = append(k.asked, r)
	return k.answer("acquire", len(r.Earlier))
}

func (k *clerk) Renew(_ context.Context, _ wire.Ticket, _ string, earlier []string) (wire.Lease, error) {
	return k.answer("renew", len(earlier))
}

func (k *clerk) Release(_ context.Context, _ wire.Ticket, used int64) error {
	k.used = append(k.used, used)
	_, err := k.answer("release", 0)
	return err
}

// served returns a claim over a clerk; with held, it has ticks 10 to 100 of node 5.
func served(t *testing.T, held bool, errs ...error) (*serverClaim, *clerk) {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	opts, err := (&Options{Label: "me"}).normal(s)
	if err != nil {
		t.Fatal(err)
	}
	k := &clerk{errs: errs, grant: snowfence.Grant{Node: 5, From: 10, Until: 100, Nodes: 1}}
	c := &serverClaim{setup: newSetup(world.Real(), "n", s, opts), server: k, avoid: map[int64]bool{}}
	if held {
		c.ticket, c.grant = []byte("0"), k.grant
	}
	return c, k
}

// A release says what was used of the grant that the claim has, and only of that.
func TestServedReleases(t *testing.T) {
	for name, c := range map[string]struct {
		o          *owed
		used, last int64 // last is up to where its ticks went
	}{
		"known":             {&owed{5, 10, 50}, 50, 50},
		"nothing was used":  {&owed{5, 10, 10}, 10, 0},
		"below the grant":   {&owed{5, 10, 3}, 3, 0},
		"used from zero":    {&owed{5, 10, 0}, 0, 0},
		"not known":         {nil, -1, 100},
		"of another node":   {&owed{6, 10, 50}, -1, 100},
		"of another start":  {&owed{5, 11, 50}, -1, 100},
		"above all of them": {&owed{5, 10, 1000}, 1000, 1000},
	} {
		x, k := served(t, true)
		if err := x.giveBack(t.Context(), c.o); err != nil || !slices.Equal(k.used, []int64{c.used}) ||
			x.last.Until != c.last || x.ticket != nil || x.kept.Load() != nil {
			t.Errorf("%s: used %v, the last is %+v, %v", name, k.used, x.last, err)
		}
		if err := x.giveBack(t.Context(), c.o); err != nil || len(k.calls) != 1 {
			t.Errorf("%s: given back twice: %q, %v", name, k.calls, err)
		}
	}
}

// What had no answer is settled before a node is given back.
func TestServedReleasesInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		held, doubt bool
		errs        []error
		calls       []string
		want        error
		gone        bool // nothing is held afterwards
	}{
		"the release fails":         {true, false, []error{errSilent}, []string{"release"}, errSilent, false},
		"the namespace is gone":     {true, false, []error{ErrNoNamespace}, []string{"release"}, nil, true},
		"a renewal came":            {true, true, nil, []string{"renew", "release"}, nil, true},
		"a renewal is lost":         {true, true, []error{store.ErrLost}, []string{"renew"}, nil, true},
		"a renewal is not known":    {true, true, []error{errSilent}, []string{"renew"}, errSilent, false},
		"an acquisition came":       {false, true, nil, []string{"acquire", "release"}, nil, true},
		"an acquisition was none":   {false, true, []error{ErrTaken}, []string{"acquire"}, nil, true},
		"an acquisition, not known": {false, true, []error{errSilent}, []string{"acquire"}, errSilent, true},
		"nothing":                   {false, false, nil, nil, nil, true},
	} {
		x, k := served(t, c.held, c.errs...)
		if c.doubt {
			x.earlier = []string{"attempt"}
		}
		err := x.giveBack(t.Context(), nil)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || !slices.Equal(k.calls, c.calls) ||
			(x.ticket == nil) != c.gone {
			t.Errorf("%s: %v after %q", name, err, k.calls)
		}
	}
}

// A loss is one at once. After other errors the next call names the attempts that had no answer.
func TestServedRenews(t *testing.T) {
	for _, err := range []error{store.ErrLost, ErrNoNamespace} {
		x, _ := served(t, true, err)
		if _, got := x.next(t.Context()); !isLost(got) || !errors.Is(got, err) || x.ticket != nil ||
			string(x.lost) != "0" || x.last.Until != 100 {
			t.Errorf("%v: %v, %+v", err, got, x)
		}
	}
	x, k := served(t, true, slices.Repeat([]error{errSilent}, maxUnanswered+2)...)
	for range maxUnanswered + 2 {
		if _, err := x.next(t.Context()); !errors.Is(err, errSilent) || isLost(err) || x.ticket == nil {
			t.Fatalf("%v, %+v", err, x)
		}
	}
	g, err := x.next(t.Context())
	if err != nil || g != k.grant || len(x.earlier) != 0 || k.earlier[1] != 1 ||
		k.earlier[maxUnanswered] != maxUnanswered ||
		k.earlier[maxUnanswered+2] != maxUnanswered {
		t.Errorf("%+v, %v; earlier attempts: %v", g, err, k.earlier)
	}
	if at := x.kept.Load(); at == nil || at.until != 100 {
		t.Errorf("kept: %+v", at)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := len(k.calls)
	if _, err := x.next(ctx); !errors.Is(err, context.Canceled) || len(k.calls) != calls {
		t.Errorf("after the end of its context: %v", err)
	}
	x, k = served(t, false)
	if _, err := x.next(ctx); !errors.Is(err, context.Canceled) || len(k.calls) != 0 {
		t.Errorf("an acquisition after the end of its context: %v, %q", err, k.calls)
	}
}

// A node is asked for again while it is not known whether it was taken, a few times.
func TestServedAcquires(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"at once":           {nil, 1, nil},
		"at last":           {slices.Repeat([]error{errSilent}, maxAsked-1), maxAsked, nil},
		"never":             {slices.Repeat([]error{errSilent}, maxAsked+1), maxAsked, errSilent},
		"none is free":      {[]error{ErrTaken}, 1, ErrTaken},
		"vetoed":            {[]error{ErrVetoed}, 1, ErrVetoed},
		"refused":           {[]error{ErrRefused}, 1, ErrRefused},
		"another scheme":    {[]error{ErrExists}, 1, ErrExists},
		"wrong":             {[]error{ErrInvalid}, 1, ErrInvalid},
		"no such namespace": {[]error{ErrNoNamespace}, 1, ErrNoNamespace},
		"none after all":    {[]error{errSilent, ErrTaken}, 2, ErrTaken},
	} {
		x, k := served(t, false, c.errs...)
		g, err := x.next(t.Context())
		if len(k.calls) != c.calls || !errors.Is(err, c.want) || (err == nil) != (g == k.grant) {
			t.Errorf("%s: %+v, %v after %q", name, g, err, k.calls)
		}
		if doubt := errors.Is(err, errSilent); (len(x.earlier) > 0) != doubt ||
			(x.kept.Load() != nil) != (doubt || err == nil) {
			t.Errorf("%s: in doubt are %q, and %v is kept", name, x.earlier, x.kept.Load())
		}
		if k.asked[0].Free {
			t.Errorf("%s: the first may take its node over", name)
		}
	}
	x, k := served(t, false)
	x.opts.Nodes = 2
	if _, err := x.next(t.Context()); err == nil || x.ticket != nil {
		t.Errorf("one node in place of two: %v", err)
	}
	k.grant.Nodes = 4 // a unit
	if g, err := x.next(t.Context()); err != nil || g.Nodes != 4 {
		t.Errorf("four in place of two: %+v, %v", g, err)
	}
	k.grant.Nodes = 2
	if _, err := x.next(t.Context()); err == nil {
		t.Error("a renewal with fewer than were granted")
	}
}

// Ticks of the last grant are never granted again, and ticks of other nodes may be.
func TestServedTicksOfBefore(t *testing.T) {
	for name, c := range map[string]struct {
		node, until int64
		ok          bool
	}{"of the same node": {5, 11, false}, "just above": {5, 10, true}, "of another node": {6, 1000, true}} {
		x, k := served(t, false)
		x.last = snowfence.Grant{Node: c.node, From: 1, Until: c.until}
		_, err := x.next(t.Context())
		if (err == nil) != c.ok || (len(k.used) == 0) != c.ok || !k.asked[0].Free {
			t.Errorf("%s: %v, given back %v", name, err, k.used)
		}
	}
}

// A node that Options.Check refuses is given back unused, and not asked for again.
func TestServedChecks(t *testing.T) {
	broken := errors.New("it is broken")
	x, k := served(t, false)
	x.opts.Check = func(context.Context, int64) error { return broken }
	if _, err := x.next(t.Context()); !errors.Is(err, ErrVetoed) || !errors.Is(err, broken) || len(k.asked) != 2 ||
		!slices.Equal(k.asked[1].Avoid, []int64{5}) || !slices.Equal(k.used, []int64{10, 10}) {
		t.Errorf("a server that offers it again: %v, %+v, used %v", err, k.asked, k.used)
	}
	x, k = served(t, false, errSilent)
	x.opts.Check = func(context.Context, int64) error { return broken }
	if _, err := x.next(t.Context()); err == nil || !slices.Equal(k.used, []int64{-1, 10}) {
		t.Errorf("what an earlier attempt may have got: %v, used %v", err, k.used)
	}
	x, k = served(t, false, nil, errSilent)
	x.opts.Check = func(context.Context, int64) error { return broken }
	if _, err := x.next(t.Context()); !errors.Is(err, errSilent) || !errors.Is(err, broken) || len(k.asked) != 1 {
		t.Errorf("it cannot be given back: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x, _ = served(t, false)
	x.opts.Check = func(context.Context, int64) error { cancel(); return broken }
	if _, err := x.next(ctx); !errors.Is(err, broken) || len(x.avoid) != 0 {
		t.Errorf("a check that had no time: %v, avoids %v", err, x.avoid)
	}
	x, k = served(t, false)
	checks := 0
	x.opts.Node, x.opts.Check = new(int64(5)), func(context.Context, int64) error { checks++; return nil }
	if _, err := x.next(t.Context()); err != nil || checks != 1 || k.asked[0].Prefer != nil {
		t.Errorf("a fixed node: %v after %d checks", err, checks)
	}
}

// Wrong arguments are told before a server is asked.
func TestKeepArguments(t *testing.T) {
	x, k := served(t, false)
	for name, keep := range map[string]func() ([]*Lease, error){
		"no server": func() ([]*Lease, error) { return Keep(t.Context(), nil, "n", x.scheme, 1, nil) },
		"no scheme": func() ([]*Lease, error) { return Keep(t.Context(), k, "n", nil, 1, nil) },
		"no name":   func() ([]*Lease, error) { return Keep(t.Context(), k, "", x.scheme, 1, nil) },
		"no ttl":    func() ([]*Lease, error) { return Keep(t.Context(), k, "n", x.scheme, 1, &Options{TTL: -1}) },
	} {
		if l, err := keep(); err == nil || l != nil || len(k.calls) != 0 {
			t.Errorf("%s: %v after %q", name, err, k.calls)
		}
	}
	if all, err := Keep(t.Context(), k, "n", x.scheme, 0, nil); err != nil || len(all)+len(k.calls) != 0 {
		t.Errorf("no lease: %v, %v after %q", all, err, k.calls)
	}
	if all, err := Keep(t.Context(), k, "n", x.scheme, -1, nil); !errors.Is(err, ErrInvalid) || len(all) != 0 {
		t.Errorf("-1 leases: %v, %v", all, err)
	}
	node := int64(1)
	if all, err := Keep(t.Context(), k, "n", x.scheme, 2, &Options{Node: &node}); !errors.Is(err, ErrInvalid) ||
		len(all)+len(k.calls) != 0 {
		t.Errorf("two leases of one node: %v, %v after %q", all, err, k.calls)
	}
	for node, want := range map[int64]string{-1: "a node", 0: "node 0"} {
		if got := (&kept{node: node}).String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// An attempt without an answer is found by all that its record says.
func TestFoundAttempts(t *testing.T) {
	const attempt = "attempt-0123456789"
	for name, c := range map[string]struct {
		change func(g *stage, r *store.Record)
		found  bool
	}{
		"as it was written":  {func(*stage, *store.Record) {}, true},
		"at the floor":       {func(g *stage, r *store.Record) { r.Holder = fmt.Sprintf("who.%d", g.namespace().Floor) }, true},
		"below the floor":    {func(g *stage, r *store.Record) { r.Holder = fmt.Sprintf("who.%d", g.namespace().Floor-1) }, false},
		"of another attempt": {func(_ *stage, r *store.Record) { r.Nonce = "x" + r.Nonce }, false},
		"given back": {func(g *stage, r *store.Record) {
			r.Holder = ""
			g.rename(func(ns *Namespace) { ns.Floor = 0 })
		}, false},
		"of another label":       {func(_ *stage, r *store.Record) { r.Label = "other" }, false},
		"of a generation before": {func(_ *stage, r *store.Record) { r.Generation-- }, false},
	} {
		g := empty(t, withRollback)
		g.l.opts.Node = nil
		g.rename(func(ns *Namespace) { ns.Floor = g.tick(-time.Hour) })
		from := g.tick(0)
		g.change(7, func(r *store.Record) {
			r.Nonce, r.Holder, r.Label, r.Generation = attempt+".1", fmt.Sprintf("who.%d", from), "stage", 1
			r.From, r.Until = g.namespace().Floor-100, from+100
			c.change(g, r)
		})
		g.must(g.c.heed(t.Context(), wire.Request{Attempt: "new-0123456789012", Earlier: []string{"none", attempt}},
			g.namespace()))
		if (g.c.held != nil) != c.found {
			t.Errorf("%s: found %+v", name, g.c.held)
			continue
		}
		if !c.found {
			continue
		}
		if _, start := startOf(g.record(7).Holder); g.c.who != "who" || g.c.held.from != start {
			t.Errorf("%s: it goes on from %d as %q, and the grant began at %d", name, g.c.held.from, g.c.who, start)
		}
		if got, err := g.c.renew(t.Context()); err != nil || got.Node != 7 || got.From != g.c.held.from ||
			!attempted(g.record(7).Nonce, []string{"new-0123456789012"}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		again := newClaim(g.c.setup, g.st)
		g.must(again.heed(t.Context(), wire.Request{Attempt: "copy-012345678901", Earlier: []string{attempt}},
			g.namespace()))
		if again.held != nil {
			t.Errorf("%s: a copy of the holder found it, too", name)
		}
	}
	g := empty(t, withRollback)
	g.l.opts.Node, g.l.opts.Nodes = nil, 2
	for node, from := range map[int64]int64{6: g.tick(0) + 5, 7: g.tick(0) + 3} { // after a grant that lapsed
		g.change(node, func(r *store.Record) {
			r.Nonce, r.Holder, r.Label, r.Generation = attempt+".1", fmt.Sprintf("who.%d", g.tick(0)), "stage", 1
			r.From, r.Until = from, from+100
		})
	}
	g.must(g.c.find(t.Context(), g.namespace(), []string{attempt}))
	if g.c.held == nil || g.c.held.from != g.tick(0)+5 || len(g.c.held.records) != 2 {
		t.Errorf("a block: %+v", g.c.held)
	}
	g = empty(t, withRollback)
	g.c.st = unlisted{g.st}
	g.must(g.c.heed(t.Context(), wire.Request{}, g.namespace()))
	if err := g.c.heed(t.Context(), wire.Request{Earlier: []string{attempt}}, g.namespace()); !errors.Is(err,
		errSilent) {
		t.Errorf("a store that does not answer: %v", err)
	}
	if _, err := acquired(t.Context(), g.st, "n", g.l.scheme, wire.Request{Attempt: "short"}, nil); !errors.Is(err,
		ErrInvalid) {
		t.Errorf("a short attempt: %v", err)
	}
}

// unlisted is a store that lists nothing.
type unlisted struct{ *scripted }

func (unlisted) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, error) {
	return nil, errSilent
}

// A holder may lack secrets that the namespace has, but not the other way round.
func TestKeysOfAHolder(t *testing.T) {
	g := empty(t, withRollback)
	for _, c := range []struct {
		keys []string
		ok   bool
	}{
		{nil, true},
		{[]string{"a"}, true},
		{[]string{"a", "b"}, true},
		{[]string{"", "b"}, true},
		{[]string{"b"}, false},
		{[]string{"a", "b", "c"}, false},
		{[]string{"a", "b", ""}, true},
	} {
		ns := Namespace{Name: "n", Keys: []string{"a", "b"}}
		if err := ns.suits(g.l.scheme, wire.Request{Keys: c.keys}); (err == nil) != c.ok || err != nil &&
			!errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", c.keys, err)
		}
	}
}

// What an earlier attempt got is given back whole: a copy of its holder may have the answer, and
// use its ticks.
func TestFoundLeaseIsGivenBackWhole(t *testing.T) {
	g := empty(t, withRollback)
	g.l.opts.Node = nil
	const attempt = "attempt-0123456789"
	from := g.tick(0)
	g.change(7, func(r *store.Record) {
		r.Nonce, r.Holder, r.Label, r.Generation = attempt+".1", fmt.Sprintf("who.%d", from), "stage", 1
		r.From, r.Until = from, from+100
	})
	g.must(g.c.find(t.Context(), g.namespace(), []string{attempt}))
	g.must(g.c.giveBack(t.Context(), nil))
	if r := g.record(7); r.Holder != "" || r.Until != from+100 {
		t.Errorf("given back: %+v", r)
	}
}
