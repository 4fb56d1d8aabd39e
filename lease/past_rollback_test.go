package lease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// A change of layout between the read and the use of a count, and a deletion.
func TestPastDuringAChange(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	next := schemeOf(t, "time=42,node=9,seq=12,epoch=2020-01-01,first=5")
	done := false
	p.st.after = func(ws []lease.Write) {
		if done || ws[0].New.Node >= lease.NamespaceNode {
			return
		}
		done = true
		p.clock.now = p.clock.now.Add(time.Second)
		if _, err := lease.ChangeNamespace(p.ctx, p.st, "n", lease.NamespaceChange{Scheme: next}); err != nil {
			t.Error(err)
		}
	}
	if id, err := b.NewAt(p.ctx, pastNow.Add(-time.Hour)); !errors.As(err, new(*lease.MismatchError)) || id != 0 {
		t.Errorf("an ID of a layout that was changed meanwhile: %d, %v", id, err)
	}
}

// A tombstone refuses, and one that comes back goes on from the counts.
func TestPastOfADeletedNamespace(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	p.id(b, at)
	if _, err := lease.DeleteNamespace(p.ctx, p.st, "n"); err != nil {
		t.Fatal(err)
	}
	p.refused(b, at, lease.ErrNoNamespace, "deleted")
	if _, err := lease.Past(p.ctx, p.st, "n", p.s, 0); !errors.Is(err, lease.ErrNoNamespace) {
		t.Error(err)
	}
	if _, err := lease.CreateNamespace(p.ctx, p.st, "n", p.s, nil); err != nil {
		t.Fatal(err)
	}
	p.id(b, at)
	p.id(p.open(0), at)
}

// An answer that was lost may have been a swap that was done. Its IDs are not made again.
func TestPastLostAnswer(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	first := p.id(b, at)
	p.st.fail = errors.New("the connection broke")
	for range 2 {
		if id, err := b.NewAt(p.ctx, at); !errors.Is(err, p.st.fail) || id != 0 {
			t.Errorf("%d, %v", id, err)
		}
	}
	p.st.fail = nil
	if id := p.id(b, at); id-first != 3<<22 {
		t.Errorf("%d follows %d: two were taken between them", id, first)
	}
}

// A backup that was restored has lost counts. Nothing is made until somebody confirms, and then
// nothing of an hour with a count, or of one that may have lost it.
func TestPastAfterABackupWasRestored(t *testing.T) {
	for name, id := range map[string]string{"another identity": "two", "the same identity": "one"} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t, pastLayout, 0)
			b := p.open(0)
			early, late, never := pastNow.Add(-9*time.Hour), pastNow.Add(-6*time.Hour), pastNow.Add(-3*time.Hour)
			p.id(b, early)
			backup := p.st.backup()
			p.id(b, early)
			p.id(b, late)
			p.st.restore(backup, id)
			p.refused(b, never, lease.ErrRolledBack, "confirm")
			p.refused(b, early, lease.ErrRolledBack, "confirm")
			if other, err := lease.Past(p.ctx, p.st, "n", p.s, 0); !errors.Is(err, lease.ErrRolledBack) {
				t.Errorf("opened after the backup: %v, %v", other, err)
			}
			if _, err := lease.ConfirmStore(p.ctx, p.st, "n"); err != nil {
				t.Fatal(err)
			}
			old := b
			b = p.open(0)
			p.refused(b, early, lease.ErrFull, "rolled back: take a time of another hour") // confirming cannot help
			p.clock.now = pastNow.Add(time.Minute)
			for _, at := range []time.Time{late, never, p.clock.now} {
				p.refused(b, at, lease.ErrFull, "--past-lost")
			}
			p.refused(old, never, lease.ErrRolledBack, "open the namespace anew")
			p.clock.now = pastNow.Add(3 * time.Hour)
			p.id(b, pastNow.Add(2*time.Hour)) // a later hour
			span := lease.Span{From: late.UnixMilli(), Until: late.Add(1).UnixMilli() + 1}
			for range 2 {
				if _, err := lease.ConfirmPast(p.ctx, p.st, "n", span); err != nil {
					t.Fatal(err)
				}
			}
			p.refused(b, early, lease.ErrFull, "rolled back")
			p.refused(b, late, lease.ErrFull, "lost: take a time of another hour")
			if _, err := p.open(1).NewAt(p.ctx, late); err == nil || strings.Contains(err.Error(), "another node") {
				t.Errorf("advice that does not help, on another node: %v", err)
			}
			p.id(b, never)
			p.id(b, late.Truncate(time.Hour).Add(time.Hour))
			p.id(b, late.Truncate(time.Hour).Add(-1))
			p.id(b, pastNow.Add(2*time.Hour))
			if lost := p.namespace().Reserved.Lost; len(lost) != 1 || lost[0] != span {
				t.Errorf("it remembers %v", lost)
			}
		})
	}
}

// A lease that notices a store that was rolled back confirms no counts.
func TestPastAfterALeaseRaisedTheFloor(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	backup := p.st.backup()
	p.id(b, pastNow.Add(-time.Hour))
	p.st.restore(backup, "two")
	l, err := lease.Open(p.ctx, p.st, "n", p.s, &lease.Options{Time: p.clock.source()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ns := p.namespace()
	if ns.Identity != "two" || ns.Reserved.Identity != "one" || !ns.Reserved.Suspect || ns.RolledBack == 0 {
		t.Errorf("%+v", ns.Reserved)
	}
	if _, err := lease.Past(p.ctx, p.st, "n", p.s, 0); !errors.Is(err, lease.ErrRolledBack) {
		t.Error(err)
	}
	if _, err := lease.ConfirmPast(p.ctx, p.st, "n", lease.Span{}); err != nil {
		t.Fatal(err)
	}
	p.id(p.open(0), pastNow.Add(-2*time.Hour))
}

// The backup may be older than the choice of numbers.
func TestPastAfterABackupFromBeforeTheChoice(t *testing.T) {
	for name, id := range map[string]string{"another identity": "two", "the same identity": "one"} {
		w := &pastWorld{world.Real(), pastNow}
		p := &past{
			t: t, clock: w, ctx: world.With(t.Context(), w), st: newPastStore(), s: schemeOf(t, pastLayout),
			made: map[snowfence.ID]time.Time{},
		}
		if _, err := lease.CreateNamespace(p.ctx, p.st, "n", p.s, nil); err != nil {
			t.Fatal(err)
		}
		backup := p.st.backup()
		if _, err := lease.AllowPast(p.ctx, p.st, "n", 0, true); err != nil {
			t.Fatal(err)
		}
		b, at := p.open(0), pastNow.Add(-time.Hour)
		p.id(b, at)
		p.st.restore(backup, id)
		if _, err := b.NewAt(p.ctx, at); err == nil {
			t.Errorf("%s: made of forgotten counts", name)
		}
		if _, err := lease.AllowPast(p.ctx, p.st, "n", 0, true); err != nil {
			t.Fatal(err)
		}
		p.refused(p.open(0), at, lease.ErrFull, "--past-lost")
	}
}

// A store that is rolled back between the swap and the use of a count.
func TestPastSetBackBeforeUse(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	backup := p.st.backup()
	p.st.after = func(ws []lease.Write) {
		if ws[0].New.Node < lease.NamespaceNode {
			p.st.restore(backup, "two")
		}
	}
	p.refused(b, pastNow.Add(-time.Hour), lease.ErrRolledBack, "")
}

// A damaged count stops its hour, and nothing else.
func TestPastDamagedCount(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	p.id(b, at)
	for k, r := range p.st.backup() {
		if k.Node >= lease.NamespaceNode {
			continue
		}
		for _, data := range []string{"", "x", r.Data[:len(r.Data)-1], strings.Replace(r.Data, ".b", ".z", 1), "."} {
			next := r
			next.Data, next.Nonce, next.Revision = data, r.Nonce+"x", r.Revision+1
			if err := p.st.Swap(p.ctx, []lease.Write{{Old: r.Nonce, New: next}})[0]; err != nil {
				t.Fatal(err)
			}
			if id, err := b.NewAt(p.ctx, at); err == nil || !strings.Contains(err.Error(), "damaged") {
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
		if err := b.FillAt(p.ctx, ids[i:i+batch], times[i:i+batch]); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != rows {
		t.Error("an ID came twice")
	}
	if most := hours + rows/batch; p.st.swaps > most {
		t.Errorf("%d swaps, more than an hour and batch: %d", p.st.swaps, most)
	}
}
