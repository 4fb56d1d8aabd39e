package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// testWithin leases only among some of the nodes, by every way in which a finder finds
// one, and is told who has those.
func testWithin(w *world) {
	narrowed := func(label string, from, until int64) *lease.Options {
		o := w.options(0)
		o.Label, o.Within = label, snowfence.NodeRange{From: from, Until: until}
		return o
	}
	outside := w.options(0)
	outside.Label = "outside"
	node := int64(9)
	outside.Node = &node
	w.must(w.open(outside).grant())

	var users []*user
	var nodes []int64
	for range 4 {
		u := w.open(narrowed("inside", 4, 8))
		w.must(u.grant())
		users, nodes = append(users, u), append(nodes, u.holds().node)
	}
	slices.Sort(nodes)
	if !slices.Equal(nodes, []int64{4, 5, 6, 7}) {
		w.Errorf("leased the nodes %v within 4 to 7", nodes)
	}
	var taken *lease.TakenError
	_, err := w.try(narrowed("late", 4, 8))
	if !errors.As(err, &taken) || taken.Nodes != (snowfence.NodeRange{From: 4, Until: 8}) || taken.Held != 4 ||
		taken.Holders != "inside (4)" ||
		!strings.Contains(err.Error(), "all 4 nodes from 4 to 7 of namespace") ||
		strings.Contains(err.Error(), "outside") {
		w.Errorf("with all nodes within held: %v", err)
	}

	// One that was given back is found again, and none that was held outside by the same label.
	was := users[0].holds().node
	w.must(users[0].release())
	w.must(users[0].l.Shutdown(w.ctx))
	u := w.open(narrowed("outside", 4, 8))
	w.must(u.grant())
	if u.holds().node != was {
		w.Errorf("leased node %d, and only %d is free", u.holds().node, was)
	}

	// A block is inside as a whole: that of 10 and 11, and not those around 9 and 12.
	block := narrowed("block", 9, 13)
	block.Nodes = 2
	b := w.open(block)
	w.must(b.grant())
	if b.holds().node != 10 {
		w.Errorf("leased the block from %d on within 9 to 12", b.holds().node)
	}
	_, err = w.try(block)
	if !errors.As(err, &taken) || taken.Nodes != (snowfence.NodeRange{From: 9, Until: 13}) || taken.Block != 2 {
		w.Errorf("a second block within 9 to 12: %v", err)
	}
}
