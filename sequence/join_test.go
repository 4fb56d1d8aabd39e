package sequence

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// More stores take the spare classes, of whichever first store is there; a dead store's class goes
// to nobody.
func TestStoresThatJoin(t *testing.T) {
	all := several(8)
	createAny(t, 7, all[:3]...)
	createAny(t, 7, all[0], all[3])
	createAny(t, 7, all[4], all[2], all[1])
	createAny(t, 7, all[5], all[0])
	expectParts(t, all, "A0", "A1", "A2", "A3", "A5", "A6", "", "")
	for _, c := range [][]lease.Store{stores(all[0], all[6]), stores(all[2], all[6]), stores(all[3], all[6])} {
		if err := CreateAny(t.Context(), c, name, Definition{}, 7); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%v", err)
		}
	}
	createAny(t, 7, all[0], all[1], all[6])
	expectParts(t, all, "A0", "A1", "A2", "A3", "A5", "A6", "A4", "")
	for i, st := range []*shaky{all[0], all[3], all[4], all[5], all[6]} {
		a := openAny(t, st)
		expectAny(t, a, []int64{1, 4, 6, 7, 5}[i], []int64{8, 11, 13, 14, 12}[i])
	}
}

// A store that lost its data is a new one.
func TestStoreThatLostItsDataJoins(t *testing.T) {
	all := several(2)
	createAny(t, 4, all...)
	all[1].empty()
	createAny(t, 4, all...)
	expectParts(t, all, "A0", "A2")
}

// Stores that do not answer stop nobody who creates what is there already; in the beginning all
// must answer.
func TestCreateAnyWithAStoreThatDoesNotAnswer(t *testing.T) {
	all := several(3)
	all[1].fail(always("get", errFault), nil)
	if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 5); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	all[1].fail(nil, nil)
	expectParts(t, all, "", "", "")
	createAny(t, 5, all...)
	fourth := newShaky()
	all[0].fail(always("get", errFault), nil)
	createAny(t, 5, append(all, fourth)...)
	all[0].fail(nil, nil)
	expectParts(t, append(all, fourth), "A0", "A1", "A2", "A4")
}

// A store that may have forgotten which classes it gave away gives no more, also when it is
// confirmed; one that is trusted does.
func TestStoreThatWentBackGivesNoClass(t *testing.T) {
	for _, c := range []struct {
		after int64
		want  string
	}{{Stop, ""}, {10, ""}, {Trust, "A2"}} {
		all := several(3)
		d := Definition{AfterFailover: c.after}
		if err := CreateAny(t.Context(), stores(all[0]), name, d, 3); err != nil {
			t.Fatal(err)
		}
		before := all[0].record(t, name)
		if err := CreateAny(t.Context(), stores(all[:2]...), name, d, 3); err != nil {
			t.Fatal(err)
		}
		if c.after != Trust {
			all[0].put(t, before) // a backup
		}
		all[0].become("another")
		err := CreateAny(t.Context(), stores(all[0], all[2]), name, d, 3)
		if c.want == "" && !errors.Is(err, lease.ErrRefused) || c.want != "" && err != nil {
			t.Errorf("%d: %v", c.after, err)
		}
		expectParts(t, all, "A0", "A1", c.want)
		if err := Confirm(t.Context(), all[0], name, Confirmation{Floor: new(int64(100))}); err != nil {
			t.Fatal(err)
		}
		all = append(all, newShaky())
		if err := CreateAny(t.Context(), stores(all[0], all[3]), name, d, 3); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%d: %v", c.after, err)
		}
	}
}

// A class that was given away is lost when its store did not get it, and the next one is taken.
func TestClassThatIsLost(t *testing.T) {
	all := several(3)
	createAny(t, 6, all[:2]...)
	all[2].fail(first("swap", errFault), nil)
	if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 6); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	createAny(t, 6, all...)
	expectParts(t, all, "A0", "A1", "A4")

	more := several(2)
	all[1].fail(nil, first("swap", errFault)) // given away, and nobody learns of it
	if err := CreateAny(t.Context(), stores(all[1], more[0]), name, Definition{}, 6); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	expectParts(t, more, "", "")
	createAny(t, 6, all[1], more[0])
	expectParts(t, []*shaky{all[1], more[0]}, "A1", "A5")
}

// A store that does not say who it is gives no class.
func TestClassOfAStoreThatDoesNotSayWhoItIs(t *testing.T) {
	all := several(2)
	createAny(t, 2, all[0])
	all[0].fail(always("identity", errFault), nil)
	if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 2); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	expectParts(t, all, "A0", "")
	all[0].fail(nil, nil)
	all[1].fail(always("identity", errFault), nil)
	if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 2); !errors.Is(err, lease.ErrRefused) {
		t.Fatal(err)
	}
	expectParts(t, all, "A0", "")
}

// A deleted sequence comes back in each store, and goes on.
func TestCreateAnyOfADeletedOne(t *testing.T) {
	all := several(2)
	createAny(t, 2, all...)
	a := openAny(t, all...)
	expectAny(t, a, 1, 3)
	a.Close()
	for _, st := range all {
		if err := Delete(t.Context(), st, name); err != nil {
			t.Fatal(err)
		}
	}
	expectParts(t, all, "A0-", "A1-")
	if _, err := OpenAny(t.Context(), stores(all...), name, nil); !errors.Is(err, ErrNoSequence) {
		t.Error(err)
	}
	createAny(t, 2, all...)
	expectParts(t, all, "A0", "A1")
	b := openAny(t, all...)
	if n, err := b.Next(t.Context()); err != nil || n != 2001 && n != 4001 { // with or without what was taken ahead
		t.Errorf("%d, %v", n, err)
	}
}

// What joins has the definition that the others have by now.
func TestStoreThatJoinsAfterAChange(t *testing.T) {
	all := several(2)
	createAny(t, 2, all[0])
	if err := Change(t.Context(), all[0], name, Changes{Max: new(int64(9))}); err != nil {
		t.Fatal(err)
	}
	if err := Change(t.Context(), all[0], name, Changes{Max: new(int64(1))}); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
	createAny(t, 2, all...)
	for i, st := range all {
		info, err := Show(t.Context(), st, name)
		if err != nil || *info.Definition.Max != 9 || info.Left != int64(5-i) {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

// A part that waits for its set is replaced when another set gives numbers, and never made active.
func TestPendingPartOfAnotherSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := several(3)
		all[1].fail(nil, first("swap", errFault))
		if err := CreateAny(t.Context(), stores(all[1], all[2]), name, Definition{}, 3); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		createAny(t, 3, all[0])
		createAny(t, 3, all[0], all[1])
		expectParts(t, all, "A0", "A1", "")
	})
}

// Parts that do not belong together are refused, whatever else is left to do.
func TestCreateAnyOverStoresThatDoNotBelong(t *testing.T) {
	all := several(4)
	createAny(t, 3, all[0])
	createAny(t, 3, newShaky(), all[1])
	createAny(t, 3, all[2])
	r := all[0].record(t, name)
	r.Nonce = "copied"
	all[2].put(t, r)
	for _, c := range [][]*shaky{{all[0], all[1], all[3]}, {all[0], all[2], all[3]}} {
		if err := CreateAny(t.Context(), stores(c...), name, Definition{}, 3); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%v", err)
		}
	}
	expectParts(t, all[3:], "")
}

// A part of a later version, or a damaged one, is left alone, and gives no class away.
func TestPartOfALaterVersion(t *testing.T) {
	for _, end := range []string{`,"later":1}`, ``} {
		all := several(3)
		createAny(t, 6, all[:2]...)
		r := all[0].record(t, name)
		r.Nonce = "later"
		if r.Data = strings.TrimSuffix(r.Data, "}") + end; end == "" {
			r.Data = "{"
		}
		all[0].put(t, r)
		createAny(t, 6, all...)
		expectParts(t, all[1:], "A1", "A3")
		if now := all[0].record(t, name); now.Nonce != "later" {
			t.Errorf("it was written: %+v", now)
		}
	}
}

// Who finds an unfinished creation gives it a second.
func TestCreateAnyWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := several(2)
		all[1].fail(always("identity", errFault), nil)
		if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 2); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		expectParts(t, all, "A0?", "")
		all[1].fail(nil, nil)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := CreateAny(ctx, stores(all...), name, Definition{}, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		createAny(t, 2, all...)
		if took := time.Since(began); took < time.Second {
			t.Errorf("it waited %v", took)
		}
		expectParts(t, all, "A0", "A1")
	})
}
