package move

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

var orders = store.Key{Namespace: "orders", Node: store.NamespaceNode}

// all returns everything in a store.
func all(t *testing.T, p store.Place) (out []store.Record) {
	t.Helper()
	heads, _, err := p.Heads(t.Context())
	must(t, err)
	for _, h := range heads {
		rs, _, err := p.List(t.Context(), h.Namespace, everyNode, 1<<20)
		must(t, err)
		out = append(out, rs...)
	}
	return out
}

// put writes a record over the one that is there, as a restored backup
// does.
func put(t *testing.T, p store.Place, r store.Record) {
	t.Helper()
	kinds.Put(t, p, store.Write{Old: get(t, p, r.Key).Nonce, New: r})
}

func get(t *testing.T, p store.Place, k store.Key) store.Record {
	t.Helper()
	rs, _, err := p.Get(t.Context(), []store.Key{k})
	must(t, err)
	return rs[0]
}

// edit changes the text of a record by hand.
func edit(t *testing.T, p store.Place, k store.Key, old, text string) {
	t.Helper()
	r := get(t, p, k)
	if r.Data = strings.Replace(r.Data, old, text, 1); !strings.Contains(r.Data, text) {
		t.Fatal(r.Data)
	}
	put(t, p, r)
}

// moved checks that a place says that the namespace is elsewhere.
func moved(t *testing.T, p store.Place) {
	t.Helper()
	_, err := scope.Namespaces(p.Store).Show(t.Context(), "orders")
	tests.WantErr(t, err, store.ErrMoved, "%s", p.Name)
}

func places(t *testing.T) (s *scene, from, to, third store.Place) {
	s = newScene(t, store.NewMemory(), store.NewMemory())
	t.Cleanup(s.end)
	return s, s.stores[0], s.stores[1], store.Place{Store: store.NewMemory(), Name: "THIRD"}
}

// A move that is refused changes nothing.
func TestMoveRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, s *scene, from, to, third store.Place)
		want   string
	}{
		"the target has its own": {func(t *testing.T, s *scene, from, to, third store.Place) {
			_, err := scope.Namespaces(to.Store).Create(t.Context(), "orders", s.scheme, nil)
			must(t, err)
		}, "take an empty store"},
		"the target moved its own away": {func(t *testing.T, s *scene, from, to, third store.Place) {
			_, err := scope.Namespaces(to.Store).Create(t.Context(), "orders", s.scheme, nil)
			must(t, err, moveAll(t.Context(), to, third))
		}, "take an empty store"},
		"the target waits for another": {func(t *testing.T, s *scene, from, to, third store.Place) {
			_, err := scope.Namespaces(third.Store).Create(t.Context(), "orders", s.scheme, nil)
			must(t, err)
			// The second write there completes it.
			interrupted(t, moveAll(t.Context(), third, mortalPlace(to, &death{at: 2})))
			if get(t, to, orders).Nonce == "" {
				t.Fatal("nothing waits")
			}
		}, "take an empty store"},
		"it was moved elsewhere": {func(t *testing.T, s *scene, from, to, third store.Place) {
			must(t, moveAll(t.Context(), from, third))
		}, "was moved from FROM to THIRD"},
		"the target lost it": {func(t *testing.T, s *scene, from, to, third store.Place) {
			must(t, moveAll(t.Context(), from, store.Place{Store: store.NewMemory(), Name: "TO"}))
		}, "TO does not have it"},
		"the target has older data again": {func(t *testing.T, s *scene, from, to, third store.Place) {
			interrupted(t, scope.Move(t.Context(), "orders", from, mortalPlace(to, &death{at: 2})))
			waits := get(t, to, orders)
			must(t, scope.Move(t.Context(), "orders", from, to))
			put(t, to, waits)
		}, "restore a backup from after the move, and run snowfence store restored before one starts"},
		"the target lost its part of it": {func(t *testing.T, s *scene, from, to, third store.Place) {
			lost := store.Place{Store: store.NewMemory(), Name: "TO"}
			interrupted(t, scope.Move(t.Context(), "orders", from, mortalPlace(lost, &death{at: 2})))
		}, "restore a backup of FROM from before the move, and run snowfence store restored before one starts"},
		"the source waits for its data": {func(t *testing.T, s *scene, from, to, third store.Place) {
			must(t, moveAll(t.Context(), from, third))
			interrupted(t, scope.Move(t.Context(), "orders", third, mortalPlace(from, &death{at: 2})))
		}, "being moved to this store"},
		"the target has it too, and less of it": {func(t *testing.T, s *scene, from, to, third store.Place) {
			before := get(t, from, orders)
			must(t, moveAll(t.Context(), from, third))
			must(t, moveAll(t.Context(), third, from))
			before.Data = strings.Replace(get(t, from, orders).Data, `"n":2`, `"n":1`, 1)
			put(t, to, before)
		}, "start no program with TO, and close that by a move from it to FROM"},
		"the target has as much of it": {func(t *testing.T, s *scene, from, to, third store.Place) {
			put(t, to, get(t, from, orders))
		}, "otherwise start no program with FROM"},
		"the target moved it back, and the source is older": {func(t *testing.T, s *scene, from, to, third store.Place) {
			must(t, moveAll(t.Context(), from, to))
			closed := get(t, from, orders)
			must(t, moveAll(t.Context(), to, from))
			put(t, from, closed)
		}, "restore a backup from after the move"},
		"the target moved it on before the source was told": {func(t *testing.T, s *scene, from, to, third store.Place) {
			interrupted(t, scope.Move(t.Context(), "orders", mortalPlace(from, &death{at: 2}), to))
			must(t, moveAll(t.Context(), to, third))
		}, "from FROM to TO, and from there to THIRD"},
		"the target moved it on": {func(t *testing.T, s *scene, from, to, third store.Place) {
			before := get(t, from, orders)
			must(t, moveAll(t.Context(), from, to), moveAll(t.Context(), to, third))
			put(t, from, before)
		}, "than TO, which knows a later move (THIRD), and nothing was changed: start no program with FROM"},
		"the source is of a later format": {func(t *testing.T, s *scene, from, to, third store.Place) {
			edit(t, from, orders, `"format":1,`, `"format":2,"lanes":{"from":7},`)
		}, "has the format 2"},
		"the source of a later format is closed": {func(t *testing.T, s *scene, from, to, third store.Place) {
			interrupted(t, scope.Move(t.Context(), "orders", from, mortalPlace(to, &death{at: 2})))
			edit(t, from, orders, `"format":1073741825,`, `"format":1073741826,"lanes":{"from":7},`)
		}, "has the format 2"},
		"the source is damaged": {func(t *testing.T, s *scene, from, to, third store.Place) {
			edit(t, from, orders, `"regions":[`, `"regions":[7,`)
		}, "is damaged"},
		"the sequence has an unknown field": {func(t *testing.T, s *scene, from, to, third store.Place) {
			edit(t, from, store.Key{Namespace: "#fast", Node: store.SequenceNode}, `{"mode"`, `{"lanes":7,"mode"`)
		}, "is of a later version"},
		"the sequence waits for another one there": {func(t *testing.T, s *scene, from, to, third store.Place) {
			must(t, sequence.Create(t.Context(), third, "fast", sequence.Definition{}))
			interrupted(t, sequence.Move(t.Context(), "fast", third, mortalPlace(to, &death{at: 2})))
		}, "take an empty"},
	} {
		t.Run(name, func(t *testing.T) {
			s, from, to, third := places(t)
			c.before(t, s, from, to, third)
			of := "orders"
			if strings.HasPrefix(name, "the sequence") {
				of = "#fast"
			}
			was := slices.Concat(all(t, from), all(t, to), all(t, third))
			for range 2 {
				tests.Says(t, moveOne(t.Context(), of, from, to), c.want, "moved")
			}
			if now := slices.Concat(all(t, from), all(t, to), all(t, third)); !slices.Equal(was, now) {
				t.Errorf("was\n%+v\nis\n%+v", was, now)
			}
		})
	}
}

// interrupted checks that a mover was killed on the way.
func interrupted(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
}

func mortalPlace(p store.Place, d *death) store.Place {
	p.Store = mortal{p.Store, d}
	return p
}

// A store that is moved into itself stays as it is.
func TestMoveIntoItself(t *testing.T) {
	_, from, _, _ := places(t)
	was := all(t, from)
	if err := moveAll(t.Context(), from, from); err == nil || !slices.Equal(was, all(t, from)) {
		t.Error(err)
	}
}

// A name that a store does not have is not made by a move.
func TestMoveOfNothing(t *testing.T) {
	_, _, to, third := places(t)
	tests.WantErr(t, scope.Move(t.Context(), "none", third, to), lease.ErrNoNamespace, "no namespace")
	tests.WantErr(t, sequence.Move(t.Context(), "none", third, to), sequence.ErrNoSequence, "no sequence")
	if made := slices.Concat(all(t, third), all(t, to)); len(made) > 0 {
		t.Errorf("%+v", made)
	}
}

// Data that went around comes back to where it began.
func TestMoveAround(t *testing.T) {
	s, from, to, third := places(t)
	must(t, moveAll(t.Context(), from, to), moveAll(t.Context(), to, third), moveAll(t.Context(), third, from))
	s.begin()
	s.alive(0)
	moved(t, to)
	moved(t, third)
}

// The source has older data again after the move, from before the move or
// while it waited for its data: it is closed again, and the target stays as
// it is.
func TestMoveOfASourceThatWasPutBack(t *testing.T) {
	_, from, to, third := places(t)
	backups := [][]store.Record{all(t, from)}
	_, err := scope.Namespaces(from.Store).Restored(t.Context(), "orders")
	must(t, err, sequence.Update(t.Context(), from, "fast", sequence.Changes{MaxRange: 50}))
	for moves := range 2 {
		must(t, moveAll(t.Context(), from, to))
		if moves == 0 {
			must(t, moveAll(t.Context(), to, third))
			interrupted(t, moveAll(t.Context(), third, mortalPlace(from, &death{at: 2})))
			backups = append(backups, all(t, from))
			must(t, moveAll(t.Context(), third, from), moveAll(t.Context(), from, to))
		}
		was := all(t, to)
		for _, old := range backups {
			for _, r := range old {
				put(t, from, r)
			}
			must(t, moveAll(t.Context(), from, to))
			if now := all(t, to); !slices.Equal(was, now) {
				t.Errorf("was\n%+v\nis\n%+v", was, now)
			}
			for _, r := range all(t, from) {
				if m, err := move.Of(r); r.Data != "" && (err != nil || m.To != "TO") {
					t.Errorf("%+v, %v", r, err)
				}
			}
		}
		must(t, moveAll(t.Context(), to, from))
	}
}

// meanwhile does something once: before it reads what a head leads, after
// the first list of a name, or after the first write.
type meanwhile struct {
	store.Store
	beforeGet, afterList, afterSwap func()
}

// once calls a function, and forgets it.
func once(do *func()) {
	if f := *do; f != nil {
		*do = nil
		f()
	}
}

func (m *meanwhile) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if keys[0].Node != orders.Node && keys[0].Node != store.SequenceNode {
		once(&m.beforeGet)
	}
	return m.Store.Get(ctx, keys)
}

func (m *meanwhile) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	defer once(&m.afterList)
	return m.Store.List(ctx, namespace, nodes, limit)
}

func (m *meanwhile) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	defer once(&m.afterSwap)
	errs, _, reply := m.Store.Swap(ctx, writes)
	return errs, nil, reply
}

// The source goes back behind its close while it is copied, again and
// again, and a program gets a grant there.
func TestMoveOfASourceThatIsRolledBackMeanwhile(t *testing.T) {
	s, from, to, _ := places(t)
	interrupted(t, scope.Move(t.Context(), "orders", from, mortalPlace(to, &death{at: 1})))
	open := get(t, from, orders)
	var until, rounds int64
	began, a, m := time.Now(), from, &meanwhile{Store: from.Store}
	var back func()
	back = func() {
		put(t, from, open)
		if rounds++; rounds < 20 {
			m.afterList = back
			return
		}
		l, err := lease.Open(t.Context(), from, "orders", s.scheme, &lease.Options{TTL: ttl, MaxSkew: ttl})
		must(t, err)
		until = l.Status().Grant.Until
		l.Orphan()
	}
	a.Store, m.afterList = m, back
	must(t, scope.Move(t.Context(), "orders", a, to))
	took := time.Since(began)
	top := int64(0)
	for _, r := range all(t, to) {
		if r.Node >= 0 {
			top = max(top, r.Until)
		}
	}
	if top < until || until == 0 || took < 40*time.Millisecond { // the pauses are some 120 ms
		t.Errorf("what was granted until %d is in no record below %d, or no pause in %v", until, top, took)
	}
	moved(t, from)
}

// Two operators move a store to two others at the same time.
func TestTwoMovers(t *testing.T) {
	_, from, to, third := places(t)
	slow := to
	slow.Store = &meanwhile{Store: to.Store, afterSwap: func() {
		must(t, scope.Move(t.Context(), "orders", from, third))
	}}
	tests.Says(t, scope.Move(t.Context(), "orders", from, slow), "to THIRD", "the slower mover")
	must(t, tests.ErrOf(scope.Namespaces(third.Store).Show(t.Context(), "orders")))
	moved(t, to)
}

// A mover rests while another one completes the move and programs use the
// target: it writes nothing over what they wrote.
func TestMoverThatRests(t *testing.T) {
	uses := map[string]func(s *scene, p store.Place) error{
		"nodes": func(s *scene, p store.Place) error {
			o := &lease.Options{Node: new(int64(2)), TTL: ttl, MaxSkew: ttl, Logger: silent}
			l, err := lease.Open(s.ctx, p, "orders", s.scheme, o)
			if err == nil {
				l.Orphan()
			}
			return err
		},
		"counts for the past": func(s *scene, p store.Place) error {
			b, err := backfill.Open(s.ctx, p, "orders", s.scheme, 0)
			if err == nil {
				_, err = b.NewAt(s.ctx, s.times...)
			}
			return err
		},
		"periods": func(s *scene, p store.Place) error {
			q, err := sequence.OpenDated(s.ctx, p, "days", &sequence.Options{Logger: silent})
			if err == nil {
				_, err = q.Next(s.ctx)
				err = errors.Join(err, q.Close())
			}
			return err
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			s, from, to, _ := places(t)
			must(t, use(s, from))
			var after []store.Record
			slow := to
			slow.Store = &meanwhile{Store: to.Store, beforeGet: func() {
				must(t, moveAll(t.Context(), from, to), use(s, to))
				after = all(t, to)
			}}
			must(t, moveAll(t.Context(), from, slow))
			if now := all(t, to); after == nil || !slices.Equal(now, after) {
				t.Errorf("%+v, not %+v", now, after)
			}
		})
	}
}

// A store that lost writes is moved before a program raised the floors.
func TestMoveAfterALoss(t *testing.T) {
	_, from, to, _ := places(t)
	must(t, sequence.Create(t.Context(), from, "skips", sequence.Definition{AfterFailover: 1000}))
	id, err := store.Identity(t.Context(), from, "")
	must(t, err, from.Suspect(t.Context(), id), moveAll(t.Context(), from, to))
	ns, err := scope.Namespaces(to.Store).Show(t.Context(), "orders")
	must(t, err)
	if at := ns.Layout.TimeOf(ns.Floor); at.Before(time.Now().Add(2 * ttl)) {
		t.Errorf("IDs go on at %v", at)
	}
	is, err := store.Identity(t.Context(), to, "orders")
	must(t, err)
	if ns.Identity != is || !ns.BackfillStopped || ns.RolledBack == 0 {
		t.Errorf("%+v", ns)
	}
	tests.WantErr(t, tests.ErrOf(take(t, to, "fast")), sequence.ErrRolledBack, "a sequence after the loss")
	if n, err := take(t, to, "skips"); err != nil || n != 1001 {
		t.Errorf("%d, %v", n, err)
	}
}

// The target loses what programs did since it was opened, and the move,
// which was never told to the source, opens it again: as a store that lost
// writes.
func TestMoveAgainAfterALoss(t *testing.T) {
	s, from, to, _ := places(t)
	names := []string{"orders", "#fast"}
	for _, name := range names {
		interrupted(t, moveOne(t.Context(), name, from, mortalPlace(to, &death{at: 2})))
	}
	backup := all(t, to)
	for _, name := range names {
		interrupted(t, moveOne(t.Context(), name, mortalPlace(from, &death{at: 1}), to))
	}
	open := func() snowfence.Grant {
		o := &lease.Options{TTL: ttl, MaxSkew: ttl, Logger: silent}
		l, err := lease.Open(t.Context(), to, "orders", s.scheme, o)
		must(t, err)
		defer l.Orphan()
		return l.Status().Grant
	}
	lost := open()
	if n, err := take(t, to, "fast"); n != 1 {
		t.Fatal(n, err)
	}
	for _, r := range backup {
		put(t, to, r)
	}
	id, err := store.Identity(t.Context(), to, "orders")
	must(t, err, to.Suspect(t.Context(), id))
	for _, name := range names {
		must(t, moveOne(t.Context(), name, from, to))
	}
	if again := open(); again.From < lost.Until {
		t.Errorf("%+v after %+v", again, lost)
	}
	if n, err := take(t, to, "fast"); !errors.Is(err, sequence.ErrRolledBack) {
		t.Errorf("%d, %v", n, err)
	}
	if b, err := backfill.Open(t.Context(), to, "orders", s.scheme, 0); !errors.Is(err, backfill.ErrRolledBack) {
		t.Errorf("%v, %v", b, err)
	}
}

// told is a store that tells an identity of its own.
type told struct {
	store.Store
	id string
}

func (n told) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, _, err := n.Store.Get(ctx, keys)
	return rs, store.Reply{Identity: n.id}, err
}

func (n told) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	errs, rs, _ := n.Store.Swap(ctx, writes, then...)
	return errs, rs, store.Reply{Identity: n.id}
}

// The mover sees another identity than programs did. A store without one
// cannot tell whether counts for the past are right.
func TestMoveByIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		program, mover string
		stopped, lost  bool // backfills, numbers
	}{
		"none":                  {"", "", true, false},
		"more of it":            {"pg:-:x", "pg:9:x", false, false},
		"less of it":            {"pg:9:x", "pg:-:x", true, true},
		"more of another store": {"pg:-:x", "pg:9:y", true, true},
	} {
		s, from, to, _ := places(t)
		inner := from.Store
		from.Store = told{inner, c.program}
		_, err := scope.Namespaces(from).Confirm(t.Context(), "orders")
		must(t, err, sequence.Create(t.Context(), from, "late", sequence.Definition{}))
		all := snowfence.NodeRange{Until: s.scheme.Nodes()}
		_, err = scope.Namespaces(from).BackfillNodes(t.Context(), "orders", all)
		from.Store = told{inner, c.mover}
		must(t, err, scope.Move(t.Context(), "orders", from, to), sequence.Move(t.Context(), "late", from, to))
		ns, err := scope.Namespaces(to.Store).Show(t.Context(), "orders")
		is, _ := store.Identity(t.Context(), to, "")
		if err != nil || ns.BackfillStopped != c.stopped || ns.Identity != is {
			t.Errorf("%s: %+v, %v", name, ns, err)
		}
		if n, err := take(t, to, "late"); errors.Is(err, sequence.ErrRolledBack) != c.lost || !c.lost && n != 1 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func take(t *testing.T, p store.Place, name string) (int64, error) {
	t.Helper()
	q, err := sequence.Open(t.Context(), p, name, &sequence.Options{Logger: silent})
	if err != nil {
		return 0, err
	}
	defer q.Close()
	return q.Next(t.Context())
}

// Programs that are older than moves refuse moved data, too.
func TestMovedIsALaterFormat(t *testing.T) {
	_, from, to, _ := places(t)
	must(t, moveAll(t.Context(), from, to))
	if r := get(t, from, orders); !strings.Contains(r.Data, `"format":1073741825`) {
		t.Error(r.Data)
	}
	if r := get(t, to, orders); !strings.Contains(r.Data, `"format":1,`) {
		t.Error(r.Data)
	}
	if list, err := scope.Namespaces(from.Store).List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := sequence.List(t.Context(), from); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
