package simulate

import (
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// alive is the progress of a slot. Liveness is about grants: whether a
// process makes IDs from them, it decides by its own coin.
type alive struct {
	madeAt    time.Duration // last ID
	grantedAt time.Duration // last grant of ticks that had come
	crowdedAt time.Duration // when others held every node that it could have had
	dry       int           // sessions in a row, after the faults, that made no ID
	hadRival  bool          // a copy of its machine died after the faults; what it pushed ahead stays
}

// mostDry is how many generators may make no ID one after the other: each
// has a few tries, and little time for some.
const mostDry = 8

// presentTick is the present one of the layout.
func (s *sim) presentTick() int64 { return s.schemes[s.era].Layout().TickOf(start().Add(s.now)) }

// noteOpening is told how the opening of a lease ended that began at a
// moment.
func (s *sim) noteOpening(h *holding, began time.Duration, err error) {
	var taken *lease.TakenError
	switch {
	case h.p.replay:
	case err == nil:
		s.hasGrant(h, h.l.Status().Grant)
	case errors.As(err, &taken) && !taken.Fixed && (s.fullAt >= began || s.blocksAreHeld(int64(h.p.slot.nodes))):
		h.p.slot.crowdedAt = s.now
	}
}

// hasGrant is told of a grant that a lease holds.
func (s *sim) hasGrant(h *holding, g snowfence.Grant) {
	if g.From <= s.presentTick() {
		h.p.slot.grantedAt = s.now
	}
	if s.due > 0 && s.blocksAreHeld(int64(h.p.slot.nodes)) {
		s.fullAt = s.now
	}
}

// blocksAreHeld reports, from the records alone, whether each block of so
// many nodes has a held node.
func (s *sim) blocksAreHeld(nodes int64) bool {
	now := s.presentTick()
	for first := (s.first + nodes - 1) / nodes * nodes; first+nodes-1 <= s.last; first += nodes {
		held := false
		for n := first; n < first+nodes && !held; n++ {
			held = s.store.get(s.recordKey(n))[0].Held(now)
		}
		if !held {
			return false
		}
	}
	return true
}

// sessionEnded is told of the end of a generator's life that began at a
// moment.
func (s *sim) sessionEnded(h *holding, began time.Duration) {
	if h.p.dead || h.p.replay || s.due == 0 || began < s.due {
		return
	}
	sl := h.p.slot
	if sl.dry++; sl.madeAt >= began {
		sl.dry = 0
	}
	if sl.dry > mostDry && !s.mayStarve(sl) {
		s.violate("%s made no ID in %d sessions after all faults had ended", sl.label, sl.dry)
	}
}

// checkProgress checks that every slot was granted ticks since it was due,
// unless others held all nodes.
func (s *sim) checkProgress() {
	for _, sl := range s.slots {
		if max(sl.madeAt, sl.grantedAt, sl.crowdedAt) < s.due && !s.mayStarve(sl) {
			s.violate("%s was granted nothing in %v after all faults had ended %v before; its last grant was at "+
				"%v, its last ID at %v", sl.label, s.now-s.due, s.resumeBound(), sl.grantedAt, sl.madeAt)
		}
	}
}

// mayStarve reports whether two slots, or a process and a copy of its
// machine since the faults ended, have the same node by configuration, or
// others may have all nodes of the lessors. A lessor needs no grant before
// a request for a node.
func (s *sim) mayStarve(sl *slot) bool {
	switch {
	case sl.role != direct:
		return true
	case sl.node == nil:
		return false
	}
	for _, p := range s.procs {
		if p.slot == sl && p != sl.process && !p.dead {
			return true
		}
	}
	for _, o := range s.slots {
		if o != sl && o.node != nil && *o.node == *sl.node {
			return true
		}
	}
	return sl.hadRival
}
