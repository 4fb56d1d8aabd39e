package scope

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
)

// Functions are functions in a database that make the IDs of a node
// ("snowfence sql"). The node has no lease, so a change of layout does not
// stop them: they make IDs of this layout until the node is retired.
type Functions struct {
	Dialect string        `json:"dialect"`         // of the database
	Schema  string        `json:"schema"`          // that they are in; "" means the one of the connection
	Label   string        `json:"label,omitempty"` // for people: which database
	Lead    time.Duration `json:"lead"`            // how far its IDs run ahead of the database's clock
	Printed int64         `json:"printed"`         // when they were made, in Unix milliseconds; RecordFunctions sets it
}

// database names the database, for people.
func (f Functions) database() string {
	if f.Label == "" {
		return f.Dialect
	}
	return f.Dialect + ", " + f.Label
}

// ofFunctions reports whether a region meets one of functions in a
// database.
func ofFunctions(err error) bool {
	var c *CollisionError
	return errors.As(err, &c) && c.Earlier.Owner == ownerFunctions
}

// functionsAt returns the region of a node while functions in a database
// have it.
func (ns Namespace) functionsAt(node int64) (Region, bool) {
	i := slices.IndexFunc(ns.Regions, func(r Region) bool { return r.functionsOf(node) })
	if i < 0 {
		return Region{}, false
	}
	return ns.Regions[i], true
}

func (r Region) functionsOf(node int64) bool {
	return r.Owner == ownerFunctions && !r.Ended && r.Nodes.From == node
}

// OfLeases returns why a lease may not have nodes. Those that can be leased
// are its own.
func (ns Namespace) OfLeases(first, count int64) error {
	if first >= ns.Nodes.From && first+count <= ns.Nodes.Until {
		return nil
	}
	all := ns.uncovered(snowfence.NodeRange{From: first, Until: first + count}, OwnerLeases)
	if len(all) == 0 {
		return nil
	}
	missing := all[0]
	r := ns.region(ns.Layout, ns.Start)
	r.Nodes = snowfence.NodeRange{From: missing.From, Until: missing.From + 1}
	err := ns.add(r, false)
	if err == nil {
		err = errors.New("it was left to functions in a database: make it leasable")
	}
	return fault.Mark(fmt.Errorf("lease: node %d of namespace %q: %w", missing.From, ns.Name, err), fault.ErrVetoed)
}

// withoutFunctions refuses the end of a namespace while its functions go
// on.
func (ns Namespace) withoutFunctions() error {
	for _, q := range ns.Regions {
		if q.Owner == ownerFunctions && !q.Ended {
			return fault.Refusedf("lease: namespace %q: functions in a database make the IDs of node %d (%s): "+
				"drop them and retire the node first", ns.Name, q.Nodes.From, q.Functions.database())
		}
	}
	return nil
}
