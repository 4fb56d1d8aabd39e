package doctor

import (
	"fmt"
	"syscall"
	"time"
)

const (
	staUnsync = 0x40 // of Timex.Status
	timeError = 5    // the clock is not synchronised
)

// synchronised asks the kernel whether something keeps its clock right, and
// how far it can be off.
func synchronised() (ok bool, most time.Duration, err error) {
	var t syscall.Timex // Modes is 0: it reads and changes nothing
	state, err := syscall.Adjtimex(&t)
	if err != nil {
		return false, 0, fmt.Errorf("asking the kernel (adjtimex): %w", err)
	}
	return state != timeError && t.Status&staUnsync == 0, time.Duration(t.Maxerror) * time.Microsecond, nil
}
