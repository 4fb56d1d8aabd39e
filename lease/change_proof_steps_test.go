package lease

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

// Stretches of one layout and key become one where they meet, and stay apart where they do not.
func TestPastIsJoinedWhereItMeets(t *testing.T) {
	at := func(start, floor int64) PastLayout { return PastLayout{"a", "k", start, floor} }
	other := PastLayout{"b", "k", 0, 99}
	key := PastLayout{"a", "l", 0, 99}
	for _, c := range []struct{ past, want []PastLayout }{
		{nil, []PastLayout{at(20, 30)}},
		{[]PastLayout{other, key}, []PastLayout{other, key, at(20, 30)}},
		{[]PastLayout{at(10, 19)}, []PastLayout{at(10, 19), at(20, 30)}},
		{[]PastLayout{at(10, 20)}, []PastLayout{at(10, 30)}},
		{[]PastLayout{at(10, 25)}, []PastLayout{at(10, 30)}},
		{[]PastLayout{at(10, 40)}, []PastLayout{at(10, 40)}},
		{[]PastLayout{at(22, 28)}, []PastLayout{at(20, 30)}},
		{[]PastLayout{at(25, 40)}, []PastLayout{at(20, 40)}},
		{[]PastLayout{at(30, 40)}, []PastLayout{at(20, 40)}},
		{[]PastLayout{at(31, 40)}, []PastLayout{at(31, 40), at(20, 30)}},
		{[]PastLayout{at(10, 20), other, at(30, 40)}, []PastLayout{other, at(10, 40)}},
	} {
		if got := remembered(c.past, at(20, 30), false); !slices.Equal(got, c.want) {
			t.Errorf("%v became %v", c.past, got)
		}
	}
	// Counted for [Past], none is joined, and the first is kept.
	for _, c := range []struct{ past, want []PastLayout }{
		{[]PastLayout{at(10, 20)}, []PastLayout{at(10, 20), at(20, 30)}},
		{nil, []PastLayout{at(20, 30)}},
	} {
		if got := remembered(c.past, at(20, 30), true); !slices.Equal(got, c.want) {
			t.Errorf("%v became %v", c.past, got)
		}
	}
	if got := remembered(nil, at(20, 20), true); len(got) != 1 {
		t.Errorf("the first layout became %v", got)
	}
	if got := remembered([]PastLayout{other}, at(20, 20), true); len(got) != 1 {
		t.Errorf("a layout without ticks is kept: %v", got)
	}
	for floor, want := range map[int64]int{19: 0, 20: 0, 21: 1} {
		if got := remembered(nil, at(20, floor), false); got == nil || len(got) != want {
			t.Errorf("with ticks 20 to %d: %v", floor, got)
		}
	}
}

// A namespace remembers as much as a record has room for, keys included.
func TestPastFitsExactly(t *testing.T) {
	long := func(layout, key int) []PastLayout {
		return []PastLayout{{Layout: strings.Repeat("x", layout), Key: strings.Repeat("x", key)}}
	}
	for _, c := range []struct {
		past []PastLayout
		ok   bool
	}{
		{make([]PastLayout, maxPast), true},
		{make([]PastLayout, maxPast+1), false},
		{long(maxPastBytes, 0), true},
		{long(maxPastBytes-7, 7), true},
		{long(maxPastBytes-7, 8), false},
		{long(0, maxPastBytes+1), false},
	} {
		if err := fits(c.past, nil); (err == nil) != c.ok {
			t.Errorf("%d layouts, the first of %d and %d bytes: %v",
				len(c.past), len(c.past[0].Layout), len(c.past[0].Key), err)
		}
	}
}

// Of a layout that cannot be read, and of ticks after the last time that there is, nothing is
// proven.
func TestPastOfWhichNothingCanBeProven(t *testing.T) {
	const spec = "time=62,node=1,epoch=2025-01-01,tick=1s"
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []PastLayout{{Layout: "x"}, {Layout: spec, Floor: 1 << 61}} {
		if _, err := p.Era(); err == nil {
			t.Errorf("an era of %+v", p)
		}
		n := Namespace{Layout: spec, Fingerprint: spec, Since: 1, Past: []PastLayout{p}}
		if err := n.prove(l, 10, 10); err == nil || errors.As(err, new(*CollisionError)) {
			t.Errorf("compared with %+v: %v", p, err)
		}
	}
	if e, err := (PastLayout{Layout: spec, Start: 5, Floor: 1 << 32}).Era(); err != nil || l.TickOf(e.From) != 5 ||
		l.TickOf(e.Until) != 1<<32 {
		t.Errorf("%+v, %v", e, err)
	}
}
