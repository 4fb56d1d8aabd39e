package snowfence

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// The zero Secret ended the program with a nil pointer.
func TestZeroSecret(t *testing.T) {
	var none Secret
	_, sparx := NewScheme(Randflake(), &none)
	rotated, err := ParseLayout("key=2,time=41,node=6,seq=12,cipher=ff1")
	if err != nil {
		t.Fatal(err)
	}
	_, first := NewScheme(rotated, &none, GenerateSecret())
	_, last := NewScheme(rotated, GenerateSecret(), &none)
	for name, err := range map[string]error{
		"sparx": sparx, "first of two": first, "last of two": last,
	} {
		if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if id := none.ID(); id != "" || len(none.AppendSecret(nil)) > 0 || fmt.Sprint(&none) != redacted {
		t.Errorf("ID %q, or AppendSecret or String", id)
	}
}

// A random number passes Check about as often as Odds says.
func TestCheckTellsForgedFromReal(t *testing.T) {
	s := testScheme(t, "randflake")
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	p := &CheckOptions{Now: now, Ahead: time.Minute, Nodes: NodeRange{From: 100, Until: 356}}
	for _, node := range []int64{100, 200, 355} {
		id := must(s.Compose(Parts{Tick: s.Layout().TickOf(now), Node: node, Sequence: 7}))
		if parts, err := s.Check(id, p); err != nil || parts.Node != node {
			t.Errorf("a real one: %+v, %v", parts, err)
		}
	}
	for _, c := range []struct{ tick, node int64 }{{s.Layout().TickOf(now) + 61, 200}, {1, 99}, {1, 356}} {
		id := must(s.Compose(Parts{Tick: c.tick, Node: c.node}))
		if _, err := s.Check(id, p); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	passed, n := 0, 2_000_000
	if testing.Short() {
		n = 200_000
	}
	wide := &CheckOptions{Now: now, Nodes: NodeRange{Until: 1 << 14}} // one random number in about 131
	for i := range n {
		if _, err := s.Check(ID(uint64(i+1)*0x9e3779b97f4a7c15), wide); err == nil {
			passed++
		}
	}
	want := s.Odds(wide) * float64(n)
	if math.Abs(float64(passed)-want) > 6*math.Sqrt(want) {
		t.Errorf("%d of %d random numbers passed; Odds says %.1f", passed, n, want)
	}
}

// Snow-drift makes IDs with the numbers 1 to 4 after a step back, and people make some with 0. No
// generator makes any above the last.
func TestCheckTakesReservedNumbers(t *testing.T) {
	s := testScheme(t, "time=51,node=6,seq=6,first=5,last=40,epoch=2020-02-20")
	wide := &CheckOptions{}
	for number, real := range map[int64]bool{0: true, 1: true, 4: true, 5: true, 40: true, 41: false, 63: false} {
		id := must(s.Compose(Parts{Tick: 7, Node: 3, Sequence: number}))
		if p, err := s.Check(id, wide); (err == nil) != real || real && p.Sequence != number ||
			!real && !errors.Is(err, ErrInvalidID) {
			t.Errorf("number %d: %+v, %v", number, p, err)
		}
	}
	if got, want := s.Odds(wide), math.Exp2(57)*41/math.Exp2(64); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("41 of 64 numbers are real: %v, want %v", got, want)
	}
}

// IDs under different keys are never the same, exhaustively for a small layout (an
// eighth of it with -short): the number of the key stands outside of the cipher.
func TestRotatedKeysDoNotCollide(t *testing.T) {
	l, err := ParseLayout("key=2,time=12,node=3,seq=5,cipher=ff1")
	if err != nil {
		t.Fatal(err)
	}
	var keys []*Secret
	seen := make([]bool, 1<<22)
	each := int64(1 << 20)
	if testing.Short() {
		each = 1 << 17
	}
	for n := range 3 {
		keys = append(keys, must(NewSecret([]byte{byte(n), 15: 9})))
		s, err := NewScheme(l, keys...)
		if err != nil {
			t.Fatal(err)
		}
		for raw := range each {
			id := must(s.Compose(Parts{Tick: raw >> 8, Node: raw >> 5 & 7, Sequence: raw & 31}))
			if id < 0 || id >= 1<<22 || seen[id] {
				t.Fatalf("key %d, raw %d: %d is there already", n, raw, id)
			}
			seen[id] = true
			if raw%1009 != 0 {
				continue
			}
			p, err := s.Decode(id)
			if err != nil || p.Tick<<8|p.Node<<5|p.Sequence != raw || p.Key != n {
				t.Fatalf("key %d, raw %d: decodes to %+v, %v", n, raw, p, err)
			}
		}
	}
	// Decode picks the key by itself, and says when it is gone.
	all, _ := NewScheme(l, keys...)
	gone, _ := NewScheme(l, nil, keys[1], keys[2])
	old, _ := NewScheme(l, keys[0])
	id := must(old.Compose(Parts{Tick: 77, Node: 5, Sequence: 3}))
	if p, err := all.Decode(id); err != nil || p.Tick != 77 || p.Key != 0 {
		t.Errorf("an old ID: %+v, %v", p, err)
	}
	if _, err := gone.Decode(id); !errors.Is(err, ErrKey) || !errors.Is(err, ErrInvalidID) {
		t.Errorf("an ID of a key that is gone: %v", err)
	}
}

// As a shard key: by remainder and by range, over 2 to 1024 shards, encrypted IDs spread
// evenly, though they are of a few milliseconds and one node.
func TestEncryptedIDsShardEvenly(t *testing.T) {
	s := testScheme(t, "randflake")
	g := newGenerator(t, Config{Fence: Unguarded(s, 9), Lead: 1000})
	ids := must(takeFill(g, 1_000_000))
	for _, shards := range []uint64{2, 3, 7, 16, 100, 256, 1000, 1024} {
		byRemainder, byRange := make([]int, shards), make([]int, shards)
		for _, id := range ids {
			byRemainder[uint64(id)%shards]++
			byRange[uint64(id)/(math.MaxUint64/shards+1)]++
		}
		mean := float64(len(ids)) / float64(shards)
		for name, counts := range map[string][]int{"remainder": byRemainder, "range": byRange} {
			var chi float64
			for _, n := range counts {
				chi += (float64(n) - mean) * (float64(n) - mean) / mean
			}
			// Chi-square has mean k−1 and variance 2(k−1); the key is fixed and so is the
			// result, up to the start time.
			if k := float64(shards - 1); chi > k+8*math.Sqrt(2*k) {
				t.Errorf("%d shards by %s: chi-square %.1f, expected about %.0f", shards, name, chi, k)
			}
		}
	}
}
