package doctor

import "context"

// identity compares the store with the one that each namespace was used in last.
func identity(ctx context.Context, c *Case, r *report) {
	name := []string{StoreIdentity}
	if c.listErr != nil {
		r.unchecked(name, "", "%v", c.listErr)
		return
	}
	for _, ns := range c.namespaces {
		now, err := c.Store.Leases.Identity(ctx, ns.Name)
		switch {
		case err != nil:
			r.unchecked(name, ns.Name, "%v", err)
		case now == "" || ns.Identity == "":
			r.unchecked(name, ns.Name, "this store has no identity")
		case now != ns.Identity:
			r.found(StoreIdentity, ns.Name, "wait, which is right after a restore or a failover; only if you moved "+
				"all data while nobody used it: snowfence namespace confirm "+ns.Name+c.Flags,
				"the namespace was last used in another store: it was restored, moved or failed over, and its "+
					"first holder waits")
		default:
			r.good(StoreIdentity, ns.Name, "the namespace was last used in this store")
		}
	}
	if len(c.namespaces) == 0 {
		r.unchecked(name, "", "there is no namespace")
	}
}
