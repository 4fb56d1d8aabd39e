package world

import (
	"sync"
	"sync/atomic"
)

// VMClock is the device by which a hypervisor tells that it resumed the
// machine from a snapshot.
const VMClock = "/dev/vmclock0"

// Machine is a machine between two resumptions from a snapshot. The zero
// Machine is not usable. Its methods are safe for concurrent use.
type Machine struct {
	counter *atomic.Uint64
	value   uint64
}

// At returns the machine of now, by the counter that a hypervisor changes
// at each resumption.
func At(counter *atomic.Uint64) Machine { return Machine{counter, counter.Load()} }

// Now returns the present machine.
func (m Machine) Now() Machine { return At(m.counter) }

// Copied reports whether the machine was resumed from a snapshot since:
// another copy of it may run, with the same memory. It costs one load.
//
// The hypervisor writes the counter, an aligned word, before the processors
// go on. So no reader sees half of it, and there is no need for the lock
// around the rest of the page.
func (m Machine) Copied() bool { return m.counter.Load() != m.value }

// thisMachine is the counter of this machine. Where nothing tells of
// snapshots it never changes.
var thisMachine = sync.OnceValue(func() *atomic.Uint64 {
	if counter, err := Counter(VMClock); err == nil {
		return counter
	}
	return new(atomic.Uint64)
})
