package scale

import (
	"time"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// tenancy is what one holder was granted of a node.
type tenancy struct {
	holder      int32
	from, until uint32
}

// granted judges an answer, and puts the next renewal on the wheel. mu is
// held.
//
// No tick of a node may be two holders'. Each grant is compared with the
// last tenancy of its node, and one that is heard of late with the tenancy
// that came after it.
func (h *holders) granted(i int32, server int8, l *pb.Lease, acquired bool) {
	x, now := &h.all[i], time.Now()
	node, from, until := int32(l.Node), uint32(l.From), uint32(l.Until)
	t := h.last[node]
	switch {
	case acquired && from >= t.until:
		h.last[node] = tenancy{i, from, until}
	case !acquired && node == x.node && t.holder == i && from >= t.from && until >= t.until:
		h.last[node] = tenancy{i, t.from, until}
	case !acquired && node == x.node && t.holder != i && until <= t.from:
	default:
		h.seen.twice++
	}
	begins := now
	if b := h.layout.TimeOf(int64(from)); b.After(now) {
		begins = b
	}
	if gap := begins.Sub(h.layout.TimeOf(int64(x.until))); x.until > 0 && gap > 0 {
		h.seen.gaps++
		h.seen.longestGap = max(h.seen.longestGap, gap)
	}
	if x.until > 0 {
		h.given[x.server]--
	}
	h.given[server]++
	x.node, x.until, x.server = node, until, server
	x.size = uint8(copy(x.ticket[:], l.Ticket))
	if int(x.size) < len(l.Ticket) {
		panic("a ticket is longer than there is room for")
	}
	h.later(i, l.RenewAfter.AsDuration())
}

// later puts a renewal on the wheel. mu is held.
func (h *holders) later(i int32, after time.Duration) {
	at := &h.wheel[(time.Now().Add(after).UnixNano()/int64(slot)+1)%slots][h.all[i].server]
	h.all[i].next, *at = *at, i
}

// at returns how many holders have a node of a server.
func (h *holders) at(server int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.given[server]
}

// without returns how many holders have no grant now.
func (h *holders) without() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.layout.TickOf(time.Now())
	for i := range h.all {
		if int64(h.all[i].until) <= now {
			n++
		}
	}
	return n
}
