package backfill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A change of layout between the read and the use of a count, and a
// deletion.
func TestPastDuringAChange(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	next := schemeOf(t, "time=42,node=9,seq=12,epoch=2020-01-01,first=5")
	done := false
	p.st.after = func(ws []store.Write) {
		if done || ws[0].New.Node >= store.NamespaceNode {
			return
		}
		done = true
		p.clock.now = p.clock.now.Add(time.Second)
		must(scope.Namespaces(p.st).Change(p.ctx, "n", next, nil))
	}
	if id, err := newAt(p.ctx, b, pastNow.Add(-time.Hour)); !errors.Is(err, lease.ErrMismatch) || id != 0 {
		t.Errorf("an ID of a layout that was changed meanwhile: %d, %v", id, err)
	}
}

// A store is rolled back to when the namespace had another layout, or was
// deleted.
func TestPastOfAnOlderStoreWithoutTheLayout(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		p := newPast(t, pastLayout, 0)
		before, at := p.s, pastNow.Add(-time.Hour)
		if deleted {
			must(scope.Namespaces(p.st).Delete(p.ctx, "n"))
		}
		backup := p.st.backup()
		if deleted {
			must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
		} else {
			p.s = schemeOf(t, "time=41,node=11,seq=11,first=1,epoch=2025-01-01")
			must(scope.Namespaces(p.st).Change(p.ctx, "n", p.s, nil))
		}
		b := p.open(3)
		p.id(b, at)
		p.st.restore(backup, "one:-")
		p.refused(b, at, backfill.ErrRolledBack, "")
		if p.s = before; deleted {
			must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
		}
		wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 3)), backfill.ErrRolledBack,
			"deleted %t: another one", deleted)
	}
}

// A count that another server wrote than the one that answers after it is
// not used.
func TestPastOfTwoServers(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	p.id(b, at)
	was := p.st.id
	p.st.before = func([]store.Write) { p.st.id = "two" }
	p.st.after = func([]store.Write) { p.st.id = was }
	if id, err := newAt(p.ctx, b, at); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("%d, %v", id, err)
	}
}

// A tombstone refuses, and one that comes back goes on from the counts.
func TestPastOfADeletedNamespace(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	p.id(b, at)
	must(scope.Namespaces(p.st).Delete(p.ctx, "n"))
	p.refused(b, at, lease.ErrNoNamespace, "deleted")
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), lease.ErrNoNamespace, "")
	must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
	p.id(b, at)
	p.id(p.open(0), at)
}

// An answer that was lost may have been a swap that was done. Its IDs are
// not made again.
func TestPastLostAnswer(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	first := p.id(b, at)
	p.st.fail = errors.New("the connection broke")
	for range 2 {
		if id, err := newAt(p.ctx, b, at); !errors.Is(err, p.st.fail) || id != 0 {
			t.Errorf("%d, %v", id, err)
		}
	}
	p.st.fail = nil
	if id := p.id(b, at); id-first != 3<<22 {
		t.Errorf("%d follows %d: two were taken between them", id, first)
	}
}

// nodes lets backfills go on with these nodes alone.
func (p *past) nodes(from, until int64) {
	p.t.Helper()
	if _, err := scope.Namespaces(p.st).BackfillNodes(p.ctx, "n", snowfence.NodeRange{
		From: from, Until: until,
	}); err != nil {
		p.t.Fatal(err)
	}
}

// A backup that was restored has lost counts. Nothing is made until an
// operator names nodes that no such ID has, and then only with these.
func TestPastAfterABackupWasRestored(t *testing.T) {
	for name, id := range map[string]string{
		"another identity": "two", "the same identity": "one:-", "the same to a program that sees more": "one:1",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t, pastLayout, 0)
			b := p.open(0)
			early, late := pastNow.Add(-9*time.Hour), pastNow.Add(-6*time.Hour)
			p.id(b, early)
			backup := p.st.backup()
			p.id(b, early)
			p.id(b, late)
			p.st.restore(backup, id)
			p.refused(b, late, backfill.ErrRolledBack, "--backfill-nodes")
			p.refused(b, early, backfill.ErrRolledBack, "--backfill-nodes")
			if told := p.st.suspected; told != map[string]int{"one:-": 1, "one:1": 1}[id] {
				t.Errorf("the store got another identity %d times", told)
			}
			wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack,
				"opened after the backup")
			must(scope.Namespaces(p.st).Confirm(p.ctx, "n"))
			wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack,
				"opened after the store was confirmed")
			for range 2 { // the second time nothing changes
				p.nodes(5, 7)
			}
			p.refused(b, late, backfill.ErrRolledBack, "open one of them")
			for _, closed := range []int64{0, 4, 7} {
				if other, err := backfill.Open(p.ctx, p.st, "n", p.s, closed); !errors.Is(err, lease.ErrRefused) ||
					!strings.Contains(err.Error(), "use the nodes 5 to 6") {
					t.Errorf("node %d: %v, %v", closed, other, err)
				}
			}
			for node := range int64(2) {
				other := p.open(5 + node)
				p.id(other, early)
				p.id(other, late)
			}
			for _, again := range []snowfence.NodeRange{{From: 0, Until: 5}, {From: 6, Until: 9}} {
				if _, err := scope.Namespaces(p.st).BackfillNodes(p.ctx, "n", again); !errors.Is(err,
					lease.ErrRefused) {
					t.Errorf("nodes of before, %+v: %v", again, err)
				}
			}
			p.nodes(7, 8)
			p.id(p.open(7), early)
			p.st.restore(p.st.backup(), "three")
			_, err := scope.Namespaces(p.st).BackfillNodes(p.ctx, "n", snowfence.NodeRange{From: 7, Until: 8})
			wantErr(t, err, lease.ErrRefused, "the same nodes in another store")
		})
	}
}

// A lease that notices a store that was rolled back stops backfills, too.
func TestPastAfterALeaseRaisedTheFloor(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	backup := p.st.backup()
	p.id(b, pastNow.Add(-time.Hour))
	p.st.restore(backup, "two")
	l := must(lease.Open(p.ctx, p.st, "n", p.s, &lease.Options{Time: p.clock.source()}))
	defer l.Close()
	ns := p.namespace()
	if ns.Identity != "two" || !ns.BackfillStopped || ns.RolledBack == 0 {
		t.Errorf("%+v", ns)
	}
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "")
	p.nodes(1, 2)
	p.id(p.open(1), pastNow.Add(-2*time.Hour))
}

// The backup may be older than the choice of numbers.
func TestPastAfterABackupFromBeforeTheChoice(t *testing.T) {
	for name, id := range map[string]string{"another identity": "two", "the same identity": "one:-"} {
		p := newPastOf(t, schemeOf(t, pastLayout))
		backup := p.st.backup()
		p.allow(0)
		b, at := p.open(0), pastNow.Add(-time.Hour)
		p.id(b, at)
		p.st.restore(backup, id)
		if _, err := newAt(p.ctx, b, at); err == nil {
			t.Errorf("%s: made of forgotten counts", name)
		}
		p.allow(0)
		wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "%s", name)
		p.nodes(3, 4)
		p.id(p.open(3), at)
	}
}

// Nodes are named where IDs for the past are allowed, and there are such.
func TestPastNodes(t *testing.T) {
	p := newPastOf(t, schemeOf(t, pastLayout))
	name := func(from, until int64) error {
		_, err := scope.Namespaces(p.st).BackfillNodes(p.ctx, "n", snowfence.NodeRange{From: from, Until: until})
		return err
	}
	wantErr(t, name(0, 5), lease.ErrRefused, "before they are allowed")
	p.allow(0)
	for _, r := range [][2]int64{{-1, 5}, {5, 5}, {6, 5}, {0, 1<<38 + 1}} {
		wantErr(t, name(r[0], r[1]), lease.ErrInvalid, "%v", r)
	}
	wantErr(t, name(0, 1<<38), nil, "also without a rollback")
	must(scope.Namespaces(p.st).Delete(p.ctx, "n"))
	wantErr(t, name(1<<38-1, 1<<38), lease.ErrNoNamespace, "of a deleted namespace")
}

// A store that tells more of its identity than before is the same one,
// whoever sees that first. From then on it may not tell less.
func TestPastOfAStoreThatTellsMore(t *testing.T) {
	for name, sees := range map[string]func(p *past){
		"a lease": (*past).id0, "a backfill": func(p *past) { p.open(0) },
		"a backfill, and a lease meanwhile": func(p *past) {
			p.st.before = func([]store.Write) {
				p.st.before = nil
				p.id0()
			}
			p.open(0)
		},
		"a choice of numbers": func(p *past) { p.allow(0) },
		"a choice of nodes":   func(p *past) { p.nodes(0, 4) },
		"a change of layout":  func(p *past) { p.change(pastSide) },
	} {
		t.Run(name, func(t *testing.T) {
			p, at := newPastOf(t, schemeOf(t, pastLayout)), pastNow.Add(-time.Hour)
			if name != "a choice of numbers" {
				p.allow(0)
				p.id(p.open(0), at)
			}
			p.st.id = "one:1"
			sees(p)
			if ns := p.namespace(); ns.Identity != "one:1" || ns.BackfillStopped || ns.RolledBack != 0 {
				t.Errorf("%+v", ns)
			}
			b := p.open(0)
			at = at.Add(-time.Hour) // other nodes begin other counts
			p.id(b, at)
			p.st.id = "one:-"
			p.refused(b, at, lease.ErrRefused, "hides a part of its identity")
			p.st.id = "one:2"
			p.refused(b, at, backfill.ErrRolledBack, "")
		})
	}
}

// Nodes were named, or numbers chosen, in another store. Then the first one
// is back, and tells more: its counts are lost, and leases see no other
// store.
func TestPastOfAStoreThatIsBack(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		p := newPastOf(t, schemeOf(t, pastLayout))
		if !chosen {
			p.allow(0)
		}
		p.st.id = "two:-"
		if p.allow(0); !chosen {
			p.nodes(0, 4)
		} else {
			wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "the choice may be lost")
		}
		if is := p.namespace().Identity; is != "one:-" {
			t.Errorf("the floor is not raised, and the store is %q", is)
		}
		p.st.id = "one:1"
		wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "chosen %t", chosen)
	}
}

// A store that hides a part of its identity names no nodes.
func TestPastNodesOfAStoreThatHides(t *testing.T) {
	p := newPastOf(t, schemeOf(t, pastLayout))
	p.st.id = "a:b"
	must(scope.Namespaces(p.st).Confirm(p.ctx, "n"))
	p.st.id = "a:" + store.Closed
	wantErr(t, errOf(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)), lease.ErrRefused, "allowed")
	p.st.id = "a:b"
	p.allow(0)
	p.st.id = "a:" + store.Closed
	_, err := scope.Namespaces(p.st).BackfillNodes(p.ctx, "n", snowfence.NodeRange{From: 5, Until: 7})
	tests.Refuses(t, err, lease.ErrRefused, "hides")
	must(scope.Namespaces(p.st).Confirm(p.ctx, "n"))
	p.nodes(5, 7)
}

// A store that is rolled back between the swap and the use of a count.
func TestPastSetBackBeforeUse(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	backup := p.st.backup()
	p.st.after = func(ws []store.Write) {
		if ws[0].New.Node < store.NamespaceNode {
			p.st.restore(backup, "two")
		}
	}
	p.refused(b, pastNow.Add(-time.Hour), backfill.ErrRolledBack, "")
}

// A damaged count stops its hour, and nothing else.
func TestPastDamagedCount(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	p.id(b, at)
	for k, r := range p.st.backup() {
		if k.Node >= store.NamespaceNode {
			continue
		}
		for _, data := range []string{
			"", "x", r.Data[:len(r.Data)-1], strings.Replace(r.Data, ".b", ".z", 1), ".",
			r.Data + "!", r.Data[:strings.Index(r.Data, ".")] + ".o" + strings.Repeat("A", 8400),
		} {
			next := r
			next.Data, next.Nonce, next.Revision = data, r.Nonce+"x", r.Revision+1
			must(store.Put(p.ctx, p.st, store.Write{Old: r.Nonce, New: next}))
			if id, err := newAt(p.ctx, b, at); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%q: %d, %v", data, id, err)
			}
			r = next
		}
	}
	p.id(b, at.Add(time.Hour))
}

// Sorted times cost a swap for each hour of each batch.
func TestPastSwaps(t *testing.T) {
	rows, batch, hours := 1_000_000, 10_000, 365*24
	if testing.Short() {
		rows, hours = 50_000, 30*24
	}
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	from := time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC)
	ids := make([]snowfence.ID, rows)
	times := make([]time.Time, rows)
	for i := range times {
		times[i] = from.Add(time.Duration(float64(i) / float64(rows) * float64(hours) * float64(time.Hour)))
	}
	for i := 0; i < rows; i += batch {
		noError(t, fillAt(p.ctx, b, ids[i:i+batch], times[i:i+batch]))
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != rows {
		t.Error("an ID came twice")
	}
	if most := hours + rows/batch; p.st.swaps > most {
		t.Errorf("%d swaps, more than an hour and batch: %d", p.st.swaps, most)
	}
}

// What a Backfill saw is gone, and an operator has changed the namespace
// since: no other store is suspected, and no other Backfill makes IDs
// either.
func TestPastOfAnOlderStoreThatWasChanged(t *testing.T) {
	for name, chosen := range map[string]bool{"without the choice": false, "with it": true} {
		t.Run(name, func(t *testing.T) {
			p := newPastOf(t, schemeOf(t, pastLayout))
			early, backup := pastNow.Add(-9*time.Hour), p.st.backup()
			p.allow(0)
			b := p.open(0)
			p.id(b, early)
			if chosen {
				backup = p.st.backup()
			}
			p.id(b, early)
			p.st.restore(backup, "one:-")
			_, err := scope.Namespaces(p.st).NoteOthers(p.ctx, "n")
			for _, n := range []int64{200, 100} {
				if err == nil {
					o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: n}}
					_, err = scope.Namespaces(p.st).Change(p.ctx, "n", nil, o)
				}
			}
			noError(t, err)
			p.refused(b, early, backfill.ErrRolledBack, "--backfill-nodes")
			p.allow(0)
			wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "opened afterwards")
			if p.st.suspected != 0 {
				t.Errorf("the store got another identity %d times", p.st.suspected)
			}
		})
	}
}

// A backup from before nodes were named has other counts, and knows none of
// the IDs since: one came twice.
func TestPastOfAStoreFromBeforeTheNodes(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	backup, at := p.st.backup(), pastNow.Add(-time.Hour)
	p.nodes(0, 4)
	b := p.open(1)
	p.id(b, at)
	p.st.restore(backup, "one:-")
	p.refused(b, at, backfill.ErrRolledBack, "")
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 1)), backfill.ErrRolledBack, "opened afterwards")
}

// The same, where the backup was written to since: its revision is as high
// as the one that was seen. Or the numbers were chosen once more in it, or
// other nodes named.
func TestPastOfAnOlderStoreThatWasWritten(t *testing.T) {
	at := pastNow.Add(-time.Hour)
	for name, c := range map[string]struct {
		named, again snowfence.NodeRange // before and after the backup came back
		chosen       bool                // before the backup
		last         int64               // number, as chosen after the backup came back
	}{
		"backfills went on": {snowfence.NodeRange{From: 1, Until: 4}, snowfence.NodeRange{}, true, 0},
		"chosen again":      {snowfence.NodeRange{}, snowfence.NodeRange{}, false, 0},
		"other numbers":     {snowfence.NodeRange{}, snowfence.NodeRange{}, false, 4},
		"the same nodes":    {snowfence.NodeRange{From: 1, Until: 4}, snowfence.NodeRange{From: 1, Until: 4}, true, 0},
		"nodes among them":  {snowfence.NodeRange{From: 1, Until: 4}, snowfence.NodeRange{From: 3, Until: 9}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPastOf(t, schemeOf(t, pastLayout))
			if c.chosen {
				p.allow(0)
			}
			backup := p.st.backup()
			p.allow(0)
			if c.named.Until > 0 {
				p.nodes(c.named.From, c.named.Until)
			}
			b := p.open(3)
			p.id(b, at)
			seen := p.namespace().Revision()
			p.st.restore(backup, "one:-")
			p.allow(c.last)
			if c.again.Until > 0 {
				p.nodes(c.again.From, c.again.Until)
			}
			for other := p.open(3); p.namespace().Revision() < seen; {
				p.clock.now = p.clock.now.Add(time.Second)
				p.id(other, p.clock.now)
			}
			p.refused(b, at, backfill.ErrRolledBack, "")
			wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 3)), backfill.ErrRolledBack, "opened afterwards")
		})
	}
}

// Nodes that begin where the ones before end are no loss.
func TestPastNodesThatFollow(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	p.nodes(0, 4)
	b := p.open(1)
	p.nodes(4, 8)
	p.refused(b, pastNow.Add(-time.Hour), lease.ErrRefused, "use the nodes 4 to 7")
	p.id(p.open(4), pastNow.Add(-time.Hour))
}

// A store that does not answer is no other store, and what could not be
// noted is noted later.
func TestPastWithoutAnswers(t *testing.T) {
	away, at := errors.New("away"), pastNow.Add(-time.Hour)
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	p.id(b, at)
	backup := p.st.backup()
	p.id(b, at)
	p.st.away = map[string]error{"get": away}
	p.refused(b, at, away, "reading")
	op := scope.Namespaces(p.st)
	wantErr(t, errOf(op.BackfillNodes(p.ctx, "n", snowfence.NodeRange{Until: 4})), away, "")
	p.st.away = nil
	p.id(b, at)
	p.st.restore(backup, "one:-")
	p.st.away = map[string]error{"suspect": away}
	p.refused(b, at, away, "another identity")
	p.st.restore(backup, "one:-")
	p.st.away = map[string]error{"later": away}
	p.refused(b, at, away, "")
	p.st.away = nil
	p.refused(b, at, backfill.ErrRolledBack, "")

	p = newPastOf(t, schemeOf(t, pastLayout))
	p.st.away = map[string]error{"get": away}
	wantErr(t, errOf(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)), away, "")
}

// A call whose record is always changed by others ends with its ctx.
func TestPastThatIsAlwaysLate(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	at := pastNow.Add(-time.Hour)
	b, other := p.open(0), p.open(0)
	var faster func([]store.Write)
	faster = func(ws []store.Write) {
		if ws[0].New.Node < store.NamespaceNode {
			p.st.before = nil
			p.id(other, at)
			p.st.before = faster
		}
	}
	p.st.before = faster
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	wantErr(t, errOf(b.NewAt(ctx, at)), context.Canceled, "")
}
