package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// maxWiden is how far ahead of now WidenNamespace lets grants begin: a slip of the keyboard must not stop a namespace for years.
const maxWiden = time.Hour

// WidenNamespace makes more nodes leasable: first to last, which must include all that are leasable already. It is the last step from numbers given by hand
// to leased ones, when no process uses the numbers of its own accord any more. Leases that are held go on.
//
// unused is a time later than the timestamp of every ID that was made with these numbers outside of leases; the zero time means now. No grant that is
// acquired from now on starts before it, so that a clock that was ahead, or a lead, makes no ID twice. It may lie an hour after now at most.
// To take nodes away from leases, veto them.
func WidenNamespace(ctx context.Context, st Store, name string, first, last int64, unused, now time.Time) (Namespace, error) {
	fail := func(format string, args ...any) (Namespace, error) {
		return Namespace{}, fmt.Errorf("lease: namespace %q: "+format, append([]any{name}, args...)...)
	}
	if unused.IsZero() {
		unused = now
	}
	if unused.After(now.Add(maxWiden)) {
		return fail("the numbers are said to be used up to %s, which is more than %v ahead: wait until then, or correct the time", unused.UTC().Format(time.RFC3339), maxWiden)
	}
	for {
		ns, err := readNamespace(ctx, st, name)
		if err != nil {
			return Namespace{}, err
		}
		if ns.State != Active {
			return Namespace{}, ns.notActive()
		}
		layout, err := snowfence.ParseLayout(ns.Layout)
		if err != nil {
			return fail("%w", err)
		}
		switch nodes := int64(1) << min(layout.Bits(snowfence.FieldNode), 62); {
		case first < 0 || last >= nodes || first > last:
			return fail("nodes %d to %d: the layout has nodes 0 to %d", first, last, nodes-1)
		case first > ns.First || last < ns.Last:
			return fail("its leasable nodes are %d to %d, and %d to %d would take some away: veto those instead", ns.First, ns.Last, first, last)
		case first == ns.First && last == ns.Last:
			return ns, nil
		}
		ns.First, ns.Last = first, last
		ns.Floor = max(ns.Floor, layout.TickOf(unused)+1)
		ns, err = ns.write(ctx, st)
		if !errors.Is(err, ErrLost) {
			return ns, err
		}
	}
}
