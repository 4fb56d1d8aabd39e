package lease

import (
	"fmt"

	"github.com/snowfence/snowfence"
)

// within returns the namespace with its leasable nodes narrowed to those that Options.Within allows. All that looks for a free node works on these.
func (c *claim) within(ns Namespace) (Namespace, error) {
	w := c.opts.Within
	if w == (snowfence.NodeRange{}) {
		return ns, nil
	}
	first, last := max(ns.First, w.From), min(ns.Last, w.Until-1)
	if k := int64(c.opts.Nodes); last-first+1 < k {
		return ns, fmt.Errorf("lease: namespace %q can lease the nodes %d to %d, and fewer than %d of them are in %d to %d, as Options.Within asks: make more leasable, or ask for others",
			c.name, ns.First, ns.Last, k, w.From, w.Until-1)
	}
	ns.First, ns.Last = first, last
	return ns, nil
}
