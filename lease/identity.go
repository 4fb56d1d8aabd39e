package lease

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/lease/store"
)

// identify returns the identity of the store, and whether that is the
// namespace's.
//
// Invariant: each source that a namespace has seen is compared until an
// operator accepts less. So an identity that leaves a source out is an
// error: the present grant may be used to its end.
func (ns Namespace) identify(ctx context.Context, st store.Store) (id string, same bool, err error) {
	if id, err = st.Identity(ctx, ns.Name); err != nil {
		return "", false, fmt.Errorf("lease: reading the store's identity: %w", err)
	}
	same, less := store.Compare(id, ns.Identity)
	if less {
		return "", false, refusedf("lease: namespace %q: the store tells this program less of itself than before (it "+
			"is %q, and was %q): give the user the rights back that \"snowfence doctor\" names, or accept that "+
			"less is noticed: snowfence namespace confirm %s", ns.Name, id, ns.Identity, ns.Name)
	}
	return id, same, nil
}
