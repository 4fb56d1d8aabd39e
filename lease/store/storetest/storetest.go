// Package storetest tests a [store.Store]: that it keeps its promises, and
// that leases in it never overlap, whatever goes wrong between them and the
// store.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return openEmptyStore(t) })
//	}
package storetest

import (
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

// Run runs the suite. open must return a new store without records each
// time, and close it with t.Cleanup; the subtests run in parallel. Leases
// in the suite have a clock of their own, so the suite waits for real time
// only in short pauses after faults.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(w *world)
	}{
		// The store itself.
		{"get", testGet},
		{"list", testList},
		{"identity, time and pin", testAnswers},
		{"suspicion", testSuspect},
		{"swap", testSwap},
		{"swap of a batch", testBatch},
		{"one swap of many wins", testContention},
		{"concurrent batches", testConcurrentBatches},
		// Leases over it.
		{"errors at every step", testEveryStep},
		{"errors at every step of a block", testEveryStepOfBlock},
		{"change of layout during renewals", testChange},
		{"store set back", testSetBack},
		{"everything at once", testStorm},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open(t))
			c.test(w)
			w.ledger.checkOverlaps(t)
		})
	}
}

// RunCounts runs the suite for what sequences and IDs for the past also
// need: additions, and keys that leases never have. open is as in [Run].
func RunCounts(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(w *world)
	}{
		{"addition", testAdd},
		{"additions at once", testAdditions},
		{"keys of sequences", testSequenceKeys},
		{"counts for the past", testPast},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(newWorld(t, open(t)))
		})
	}
}
