package server

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// numbered makes a sequence.
func numbered(t *testing.T, st lease.Store, name string, d sequence.Definition) {
	t.Helper()
	if err := sequence.Create(t.Context(), st, name, d); err != nil {
		t.Fatal(err)
	}
}

// takes fails the test unless a take of n numbers begins with first.
func (s *Service) takes(t *testing.T, name string, n, first int64) {
	t.Helper()
	got, err := s.TakeNumbers(t.Context(), Open().Anyone(), name, 0, n)
	if err != nil || got.First != first || got.Count != n {
		t.Fatalf("%+v, %v, want %d from %d", got, err, n, first)
	}
}

// refuses fails the test unless a take of n numbers is an error of a kind with a text in it.
func (s *Service) refuses(t *testing.T, name string, n int64, k Kind, text string) {
	t.Helper()
	got, err := s.TakeNumbers(t.Context(), Open().Anyone(), name, 0, n)
	if err == nil || KindOf(err) != k || !strings.Contains(PublicText(err), text) {
		t.Fatalf("%+v, %v, want %s: %s", got, err, k.Name(), text)
	}
}

// lastIs fails the test unless it is the last number given.
func (s *Service) lastIs(t *testing.T, name string, want int64, there bool) {
	t.Helper()
	got, ok, err := s.LastNumber(t.Context(), Open().Anyone(), name, 0)
	if err != nil || ok != there || ok && got != want {
		t.Fatalf("%d, %t, %v, want %d, %t", got, ok, err, want, there)
	}
}

// A server's answers always rise: a block that does not fit drops the rest of the range.
func TestNumbersOfAServerRise(t *testing.T) { synctest.Test(t, testNumbersOfAServerRise) }

func testNumbersOfAServerRise(t *testing.T) {
	st := newStore(t)
	numbered(t, st, "orders", sequence.Definition{MinRange: 10, MaxRange: 10})
	numbered(t, st, "down", sequence.Definition{Start: new(int64(-5)), Step: -5})
	s, other := newService(t, st, Options{}), newService(t, st, Options{})
	s.lastIs(t, "orders", 0, false)
	s.takes(t, "orders", 1, 1)
	s.takes(t, "orders", 5, 2)
	s.lastIs(t, "orders", 6, true)
	synctest.Wait()
	other.lastIs(t, "orders", 20, true) // the highest that anybody may have: the first range, and one ahead
	other.takes(t, "orders", 1, 21)
	synctest.Wait()
	s.takes(t, "orders", 5, 7)
	s.lastIs(t, "orders", 11, true)
	s.takes(t, "orders", 100, 41)
	s.takes(t, "orders", 1, 141)
	s.takes(t, "down", 2, -5)
	s.takes(t, "down", 1, -15)
	s.lastIs(t, "down", -15, true)
}

func TestNumbersToTheEnd(t *testing.T) {
	st := newStore(t)
	numbered(t, st, "few", sequence.Definition{
		Start: new(int64(math.MinInt64)), Max: new(int64(math.MinInt64 + 3)), Mode: sequence.Strict,
	})
	s := newService(t, st, Options{})
	s.lastIs(t, "few", 0, false)
	s.refuses(t, "few", 0, Invalid, "1 to 1000000")
	s.refuses(t, "few", MaxBatch+1, Invalid, "1 to 1000000")
	s.takes(t, "few", 1, math.MinInt64)
	s.lastIs(t, "few", math.MinInt64, true)
	s.takes(t, "few", 3, math.MinInt64+1)
	s.refuses(t, "few", 1, Ended, "snowfence sequence change few --max M")
	s.lastIs(t, "few", math.MinInt64+3, true)
	newService(t, st, Options{}).lastIs(t, "few", math.MinInt64+3, true)
}
