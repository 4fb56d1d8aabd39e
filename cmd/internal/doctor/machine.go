package doctor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/snowfence/snowfence/internal/world"
)

func machineCopies(_ context.Context, _ *Case, r *report) {
	_, err := world.Counter(world.VMClock)
	judgeVMClock(err, r)
}

// judgeVMClock says whether programs learn that this machine was resumed
// from a snapshot; err is the reason if they do not. A machine without such
// a device is no finding: most have none.
func judgeVMClock(err error, r *report) {
	switch {
	case err == nil:
		r.good(MachineCopies, world.VMClock, "the hypervisor tells programs when it resumed this machine from a "+
			"snapshot")
	case errors.Is(err, fs.ErrPermission):
		r.found(MachineCopies, world.VMClock, `let programs read it, by a line KERNEL=="vmclock0", MODE="0444" in `+
			"/etc/udev/rules.d/60-vmclock.rules", "programs may not read what the hypervisor says of snapshots, so "+
			"two copies of this machine can make the same IDs for a while")
	default:
		r.good(MachineCopies, "", "nothing tells programs that this machine was resumed from a snapshot (%v): do not "+
			"resume it twice", err)
	}
}
