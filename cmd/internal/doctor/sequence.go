package doctor

import (
	"context"

	"github.com/snowfence/snowfence/sequence"
)

// sequences looks at the sequences of the store.
func sequences(ctx context.Context, c *Case, r *report) {
	list, err := sequence.List(ctx, c.Store.Leases)
	if err != nil {
		r.unchecked([]string{SequenceRolledBack, SequenceEnds}, "", "%v", err)
		return
	}
	for _, s := range list {
		switch {
		case s.Deleted:
		case s.RolledBack:
			r.found(SequenceRolledBack, s.Name, "snowfence sequence confirm "+s.Name+c.Flags,
				"the store may have lost numbers of this sequence, which stops until an operator confirms it")
		case s.Left == 0 && s.Definition.Pattern == "":
			r.found(SequenceEnds, s.Name, "make another sequence, or change its greatest number: snowfence sequence "+
				"change --help", "all its numbers are used")
		}
	}
}
