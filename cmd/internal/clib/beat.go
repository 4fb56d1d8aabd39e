package clib

import (
	"sync/atomic"
	"time"
)

// beatEvery is the time from a take to the next rise of the beat, and so
// the highest age of an ID in a ring. Timers stand still while the machine
// sleeps: that time comes on top.
const beatEvery = 100 * time.Millisecond

// beat is a number in the memory of C. A ring compares it with the number
// at its refill. It only rises, also when a later handle uses the word of
// an earlier one.
//
// Invariant: a ring reads the beat before it asks for IDs, and after each
// request the beat rises. So a rise after a loss or a close drops every ID
// that was taken before.
type beat struct {
	word *uint64
	due  atomic.Uint64 // the beat at which a rise was last announced
}

// raise makes all rings drop their IDs.
func (b *beat) raise() { atomic.AddUint64(b.word, 1) }

// raiseSoon makes sure that the beat rises soon. It is called before IDs go
// to a ring. A rise that was announced at the present beat is still to
// come.
func (b *beat) raiseSoon() {
	now := atomic.LoadUint64(b.word)
	if due := b.due.Load(); due != now && b.due.CompareAndSwap(due, now) {
		time.AfterFunc(beatEvery, b.raise)
	}
}
