package sequence

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

// A definition repeated alike changes nothing, and what is absent in it may
// have been changed.
func TestCreateAgain(t *testing.T) {
	st := newShaky()
	d := Definition{
		Mode: Dense, Start: new(int64(10)), Step: 5, Max: new(int64(500)), MinRange: 2, MaxRange: 20, AfterFailover: 7,
	}
	create(t, st, d)
	was := st.record(t, name)
	for what, again := range map[string]Definition{
		"alike":               d,
		"with what is absent": {Mode: Dense, Start: new(int64(10)), Step: 5},
		"max is reached":      {Mode: Dense, Start: new(int64(10)), Step: 5, Max: new(int64(500))},
	} {
		if err := Create(t.Context(), st, name, again); err != nil || st.record(t, name) != was {
			t.Errorf("%s: %v, %+v", what, err, st.record(t, name))
		}
	}
	for what, change := range map[string]func(*Definition){
		"mode":           func(d *Definition) { d.Mode = "" },
		"start":          func(d *Definition) { d.Start = nil },
		"step":           func(d *Definition) { d.Step = 0 },
		"max":            func(d *Definition) { d.Max = new(int64(505)) },
		"smallest range": func(d *Definition) { d.MinRange = 3 },
		"largest range":  func(d *Definition) { d.MaxRange = 21 },
		"failover":       func(d *Definition) { d.AfterFailover = Trust },
	} {
		other := d
		change(&other)
		wantErr(t, Create(t.Context(), st, name, other), lease.ErrExists, "another %s", what)
	}
	if st.record(t, name) != was {
		t.Error("a refused definition changed something")
	}
	wantErr(t, Create(t.Context(), st, name, Definition{Mode: "x"}), lease.ErrInvalid, "a definition that is none")
}

// A deleted sequence gives no number. It comes back with the same
// definition only, and goes on.
func TestDeletedSequenceGoesOn(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1, 2)
	noError(t, Delete(t.Context(), st, name))
	refused(t, s, ErrNoSequence)
	was := st.record(t, name)
	if err := Delete(t.Context(), st, name); err != nil || st.record(t, name) != was {
		t.Errorf("deleted again: %v", err)
	}
	wantErr(t, errOf(Open(t.Context(), st, name, nil)), ErrNoSequence, "opened")
	wantErr(t, Update(t.Context(), st, name, Changes{MinRange: 2}), ErrNoSequence, "changed")
	wantErr(t, Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(9))}), ErrNoSequence, "confirmed")
	wantErr(t, Create(t.Context(), st, name, Definition{}), lease.ErrExists, "made with another mode")
	create(t, st, Definition{Mode: Strict})
	expect(t, s, 3)
	expect(t, open(t, st, nil), 4)
}

// A deleted sequence that gave no number comes back with any definition,
// and programs that opened the old one get no numbers of the new one. It
// does not where it may have given one.
func TestUnusedSequenceIsMadeAnew(t *testing.T) {
	definitions := []Definition{
		{Mode: Strict},
		{Mode: Strict, Start: new(int64(5))},
		{Mode: Strict, Step: 2},
		{Mode: Strict, Pattern: "{year}-{n}"},
		{Mode: Strict, Pattern: "{year}-{n}", Zone: "Europe/Berlin"},
		{Mode: Fast},
	}
	for i, was := range definitions {
		for j, is := range definitions {
			if i == j || was.Pattern != "" {
				continue
			}
			st, s := made(t, was)
			noError(t, Delete(t.Context(), st, name))
			create(t, st, is)
			refused(t, s, lease.ErrRefused)
			noError(t, Delete(t.Context(), st, name))
			create(t, st, was)
			expect(t, open(t, st, nil), *cmp.Or(was.Start, new(int64(1))))
		}
	}
	for why, spoil := range map[string]func(*shaky) error{
		"confirmed": func(st *shaky) error {
			return Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(1))})
		},
		"given back": func(st *shaky) error {
			return update(t.Context(), st, name, false, func(s *state) (bool, error) {
				s.Reached = 5
				return true, nil
			})
		},
		"another identity": func(st *shaky) error { st.become("other"); return nil },
		"taken": func(st *shaky) error {
			_, err := NextTx(t.Context(), st, name, 0)
			return err
		},
	} {
		st, _ := made(t, Definition{Mode: Strict})
		noError(t, spoil(st))
		noError(t, Delete(t.Context(), st, name))
		if err := Create(t.Context(), st, name, Definition{Step: 3}); !errors.Is(err, lease.ErrExists) ||
			!strings.Contains(err.Error(), "deleted") {
			t.Errorf("%s: %v", why, err)
		}
	}
	st := newShaky()
	create(t, st, Definition{Mode: Strict, Pattern: "{year}-{n}"})
	noError(t, Delete(t.Context(), st, name))
	st.Store = listless{st.Store}
	wantErr(t, Create(t.Context(), st, name, Definition{Step: 3}), errFault, "what it gave is not known")
}

// The error at the end names a cure that works.
func TestCureOfAnEnd(t *testing.T) {
	for cure, d := range map[string]Definition{
		"raise max, ": {}, "raise max": {Pattern: "{year}{n}", Max: new(int64(9))}, "another": {Pattern: "{year}{n:1}"},
	} {
		d, _, err := d.withDefaults()
		said := state{stored: stored{Definition: d}}.endError()
		if err != nil || !strings.Contains(said.Error(), cure) {
			t.Error(said, err)
		}
	}
}

func TestNoSequence(t *testing.T) {
	st := newShaky()
	_, show := Show(t.Context(), st, name)
	_, opened := Open(t.Context(), st, name, nil)
	for call, err := range map[string]error{
		"Show": show, "Open": opened, "Delete": Delete(t.Context(), st, name),
		"Change":  Update(t.Context(), st, name, Changes{MinRange: 1}),
		"Confirm": Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(1))}),
	} {
		wantErr(t, err, ErrNoSequence, "%s", call)
	}
	if r := st.record(t, name); r.Nonce != "" {
		t.Errorf("something was written: %+v", r)
	}
}

// Max may be any number that was not given out, or the last one that was.
func TestChange(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, Max: new(int64(100))})
	expect(t, s, 1, 2, 3)
	for max, want := range map[int64]error{2: lease.ErrRefused, 1: lease.ErrRefused, 0: lease.ErrInvalid} {
		wantErr(t, Update(t.Context(), st, name, Changes{Max: &max}), want, "max %d", max)
	}
	change := func(c Changes) Definition {
		t.Helper()
		was := st.record(t, name)
		noError(t, Update(t.Context(), st, name, c))
		if r := st.record(t, name); r.Generation != was.Generation+1 || r.From != was.From {
			t.Errorf("%+v became %+v", was, r)
		}
		i := must(Show(t.Context(), st, name))
		return i.Definition
	}
	change(Changes{Max: new(int64(3))})
	refused(t, s, ErrEnded)
	d := change(Changes{Max: new(int64(5)), MinRange: 3, MaxRange: 4, AfterFailover: new(int64(6))})
	if *d.Max != 5 || d.MinRange != 3 || d.MaxRange != 4 || d.AfterFailover != 6 || d.Mode != Strict {
		t.Errorf("%+v", d)
	}
	d = change(Changes{AfterFailover: new(int64(Stop))})
	if *d.Max != 5 || d.MinRange != 3 || d.MaxRange != 4 || d.AfterFailover != Stop {
		t.Errorf("what is absent was changed: %+v", d)
	}
	expect(t, s, 4, 5)
	refused(t, s, ErrEnded)
	change(Changes{Max: new(int64(6))})
	expect(t, s, 6)
	wantErr(t, Update(t.Context(), st, name, Changes{MinRange: 9}), lease.ErrInvalid, "a range upside down")
}

// Above a confirmed floor that lies beyond max, any max that was given out
// before is refused, and a higher one gives no number below the floor.
func TestChangeAboveAFloor(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, Max: new(int64(100))})
	noError(t, Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(200))}))
	refused(t, s, ErrEnded)
	wantErr(t, Update(t.Context(), st, name, Changes{Max: new(int64(99))}), lease.ErrRefused, "a lower max")
	for _, max := range []int64{100, 150, 199} {
		noError(t, Update(t.Context(), st, name, Changes{Max: &max}))
		refused(t, s, ErrEnded)
	}
	noError(t, Update(t.Context(), st, name, Changes{Max: new(int64(201))}))
	expect(t, s, 200, 201)
}
