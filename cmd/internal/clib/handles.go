package clib

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence"
)

// Handle is a slot and its generation. C sees it as a pointer that nobody
// follows. Its bits: 16 of magic, which no address of a program has, 32 of
// the generation, one of the kind, 15 of the slot. The shim reads the slot,
// because it is the index of the beat.
type Handle uint64

const (
	magic      = 0x5f1d
	sequenceOf = 1 << 15
)

// Library has the handles of a process. It is safe for concurrent use.
type Library struct {
	words []uint64 // the beats, by slot; the first word is the shim's
	slots []atomic.Pointer[entry]

	mu          sync.Mutex // of what follows
	next        int        // lowest slot that was never used
	free        []int
	generations uint64                               // generation of the last handle
	statics     map[snowfence.Fence]snowfence.Region // in tick 1
}

// entry is the open object in a slot.
type entry struct {
	handle Handle
	closed atomic.Bool
	ids    *generator // nil for a sequence
	seq    *numbers   // nil for a generator
}

// NewLibrary returns a library with a slot for each word but the first. The
// word of a slot is its beat.
func NewLibrary(words []uint64) *Library {
	return &Library{
		words: words, slots: make([]atomic.Pointer[entry], len(words)), next: 1,
		statics: map[snowfence.Fence]snowfence.Region{},
	}
}

// takeSlot takes a slot for an object that is going to be opened.
func (l *Library) takeSlot() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		slot := l.free[n-1]
		l.free = l.free[:n-1]
		return slot, nil
	}
	if l.next == len(l.slots) {
		return 0, coded{TooMany, fmt.Errorf("%d handles are open, as many as there can be: close some, or share one "+
			"between threads", len(l.slots)-1)}
	}
	l.next++
	return l.next - 1, nil
}

// giveHandle gives an open object its handle.
func (l *Library) giveHandle(slot int, e *entry) Handle {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generations++
	e.handle = Handle(magic<<48 | (l.generations&(1<<32-1))<<16 | uint64(slot))
	if e.seq != nil {
		e.handle |= sequenceOf
	}
	l.slots[slot].Store(e)
	return e.handle
}

// leaveHandle ends the use of a handle; false if another call was first.
func (l *Library) leaveHandle(h Handle, sequence bool) (*entry, error) {
	e, err := l.findEntry(h, sequence)
	if err != nil {
		return nil, err
	}
	if !e.closed.CompareAndSwap(false, true) {
		return nil, l.explainHandle(h, sequence)
	}
	return e, nil
}

// findEntry returns the object behind a handle of a kind.
func (l *Library) findEntry(h Handle, sequence bool) (*entry, error) {
	slot := int(h & (sequenceOf - 1))
	if h>>48 == magic && (h&sequenceOf != 0) == sequence && slot > 0 && slot < len(l.slots) {
		if e := l.slots[slot].Load(); e != nil && e.handle == h && !e.closed.Load() {
			return e, nil
		}
	}
	return nil, l.explainHandle(h, sequence)
}

func (l *Library) explainHandle(h Handle, sequence bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	generation := uint64(h>>16) & (1<<32 - 1)
	switch slot := int(h & (sequenceOf - 1)); {
	case h == 0:
		return InvalidError("the handle is NULL: use what an open call stored")
	case h>>48 != magic || slot == 0 || slot >= len(l.slots) || generation == 0 || generation > l.generations:
		return InvalidError("the handle %#x is not of this library: use what an open call stored",
			uint64(h))
	case (h&sequenceOf != 0) != sequence:
		return InvalidError("the handle is of the other kind: generators and sequences have calls of their own")
	}
	return coded{Closed, fmt.Errorf("the handle was closed: open another one")}
}

// dropEntry frees the slot of a handle after it was closed.
func (l *Library) dropEntry(e *entry) {
	slot := int(e.handle & (sequenceOf - 1))
	l.slots[slot].Store(nil)
	l.giveBack(slot)
}

func (l *Library) giveBack(slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, slot)
}
