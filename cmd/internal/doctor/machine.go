package doctor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
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

// identity compares the store with the last store of a namespace.
func identity(ctx context.Context, c *Case, ns scope.Namespace, _ snowfence.Layout, r *report) error {
	now, err := store.Identity(ctx, c.Store.Leases, ns.Name)
	same, less := store.Compare(now, ns.Identity)
	switch {
	case err != nil:
		return err
	case now == "" || ns.Identity == "":
		r.unchecked(r.names, ns.Name, "this store has no identity")
	case less:
		r.found(StoreIdentity, ns.Name, "give its user back the rights that store-durability names, or do what the "+
			"error of \"snowfence new\" says",
			"the store hides a part of its identity that the namespace has seen, so no lease is renewed")
	case !same:
		r.found(StoreIdentity, ns.Name, "wait, which is right after a restore or a failover; only if you moved "+
			"all data while no program used it: snowfence namespace confirm "+ns.Name+c.Flags,
			"the namespace was last used in another store: it was restored, moved or failed over, and its "+
				"first holder waits")
	default:
		r.good(StoreIdentity, ns.Name, "the namespace was last used in this store")
	}
	return nil
}
