package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// hostile is a client of a server with the verb store, which lies in every field. It knows all that
// such a client can know, and its network never fails. Some of the others go through a server, too.
type hostile struct {
	s      *sim
	chance *rand.Rand
	secret string
	writes int
	seen   []lease.Record // what it was shown, of nodes and of the namespace
}

// haunt decides whether the run has a hostile client, and which slots are clients of a server. Its
// choices are its own, so that runs without one are as before.
func (s *sim) haunt() {
	chance := rand.New(rand.NewPCG(s.plan.Seed, 7))
	if chance.IntN(4) > 0 && !s.plan.hostile {
		return
	}
	s.hostile = &hostile{s: s, chance: chance, secret: "hostile"}
	s.jump = min(s.jump, s.skew/2) // a server refuses what is written by worse clocks
	for _, sl := range s.slots {
		sl.served = chance.IntN(2) == 0
	}
}

// trueTime is a server's clock, as a process sees it.
func (p *process) trueTime() time.Time { return start().Add(p.now()) }

// through returns the store as a process of a slot reaches it.
func (p *process) through(st lease.Store) lease.Store {
	if p.slot.served {
		return lease.Holders(st, p.trueTime)
	}
	return st
}

// act lets the client do something, and plans the next.
func (x *hostile) act() {
	s := x.s
	if s.calm {
		return
	}
	s.after(time.Duration(x.chance.Int64N(int64(s.ttl))), x.act)
	st := lease.Holders(direct{st: s.store, s: s}, s.operator.trueTime)
	ctx := world.With(context.Background(), s.operator)
	for range 1 + x.chance.IntN(6) {
		rs, err := st.Get(ctx, append(keysOf(x.chance.Int64N(s.last+2)), lease.Key{
			Namespace: namespace,
			Node:      lease.NamespaceNode,
		}))
		if err != nil {
			return
		}
		x.seen = append(x.seen, rs...)
		if len(x.seen) > 200 {
			x.seen = slices.Delete(x.seen, 0, 100)
		}
		w := x.ofNode(rs[0], rs[1])
		if x.chance.IntN(4) == 0 {
			w = x.ofNamespace(rs[1])
		}
		_ = st.Swap(ctx, []lease.Write{w})
		if x.chance.IntN(10) == 0 {
			x.secret = s.operator.Text()
		}
	}
}

func (x *hostile) some() lease.Record { return x.seen[x.chance.IntN(len(x.seen))] }

func (x *hostile) hash() string {
	sum := sha256.Sum256([]byte(x.secret))
	return hex.EncodeToString(sum[:16])
}

// ofNode returns a write that takes a node, renews it or gives it back, mostly with a lie.
func (x *hostile) ofNode(r, namespace lease.Record) lease.Write {
	s := x.s
	ns, err := s.shown()
	if err != nil {
		return lease.Write{New: r}
	}
	now := s.schemes[s.era].Layout().TickOf(s.operator.trueTime())
	known := r.Nonce != "" && r.Generation >= ns.Since
	floor := ns.Floor
	if known {
		floor = max(floor, r.Until)
	}
	x.writes++
	w := lease.Write{Old: r.Nonce, New: r}
	n := &w.New
	n.Nonce, n.Data = fmt.Sprintf("%s.%d", x.hash(), x.writes), x.secret
	n.Revision, n.Generation, n.Label = r.Revision+1, ns.Generation, "hostile"
	own := strings.HasPrefix(r.Holder, x.hash())
	switch {
	case own && x.chance.IntN(2) == 0:
		n.Holder, n.Until = "", max(r.From, x.began(r))
	case own:
		n.Until = max(r.Until, now)
	default:
		if !known {
			n.From, n.PrevUntil, n.SkipFrom, n.SkipUntil = floor, floor, 0, 0
		}
		if x.chance.IntN(2) == 0 && floor > r.Until {
			n.From, n.PrevUntil = floor, floor
		}
		n.Holder, n.Until = fmt.Sprintf("%s.%d", x.hash(), floor), floor+x.chance.Int64N(3)
	}
	for range x.chance.IntN(3) {
		x.lie(&w, now, floor)
	}
	return w
}

// began returns the first tick of its own grant, as the record says.
func (x *hostile) began(r lease.Record) (tick int64) {
	_, text, _ := strings.Cut(r.Holder, ".")
	_, _ = fmt.Sscan(text, &tick)
	return tick
}

// lie changes one field to something that may pass.
func (x *hostile) lie(w *lease.Write, now, floor int64) {
	n, o := &w.New, x.some()
	tick := []int64{
		0, now - 1, now, floor, floor + 1, o.From, o.Until, o.PrevUntil, n.From, n.Until, now * 2,
		-1,
	}[x.chance.IntN(12)]
	switch x.chance.IntN(14) {
	case 0, 1:
		n.Until = tick
	case 2:
		n.From = tick
	case 3:
		n.PrevUntil = tick
	case 4:
		n.SkipFrom, n.SkipUntil = 0, 0
	case 5:
		n.SkipUntil = tick
	case 6:
		n.Holder = o.Holder
	case 7:
		n.Holder, n.Until = "", tick
	case 8:
		n.Holder = fmt.Sprintf("%s.%d", x.hash(), tick)
	case 9:
		n.Nonce = o.Nonce
	case 10:
		n.Generation = o.Generation
	case 11:
		n.Revision = o.Revision
	case 12:
		n.Veto, n.Data = "", o.Data
	case 13:
		w.Old = o.Nonce
	}
}

// ofNamespace returns a write of the namespace, as an operator or a lease over the store makes it,
// or a question with old proofs.
func (x *hostile) ofNamespace(r lease.Record) lease.Write {
	s := x.s
	x.writes++
	w := lease.Write{Old: r.Nonce, New: r}
	n := &w.New
	n.Nonce, n.Revision = fmt.Sprintf("%s.%d", x.hash(), x.writes), r.Revision+1
	n.Generation += int64(x.chance.IntN(2))
	switch x.chance.IntN(4) {
	case 0: // all is well with the store
		for i := range s.store.identity + 1 {
			n.Data = strings.Replace(n.Data, fmt.Sprintf("%q", fmt.Sprint("store ", i)),
				fmt.Sprintf("%q", s.store.name()), 1)
		}
	case 1:
		o := x.some()
		n.Until, n.Data, n.Generation = o.Until, o.Data, o.Generation
	case 2:
		n.Data = fmt.Sprintf(`{"question":{"reach":%d}}`, []int64{0, int64(s.ttl), int64(2 * s.ttl), -1, int64(48 * time.Hour)}[x.chance.IntN(5)])
	case 3:
		o := x.some()
		until := o.Until
		if x.chance.IntN(4) == 0 {
			until *= 2
		}
		n.Data = fmt.Sprintf(`{"question":{"gone":[{"node":%d,"nonce":%q,"revision":%d,"generation":%d,"until":%d,"mac":%q}]}}`,
			o.Node, o.Nonce, o.Revision, o.Generation, until, o.Data)
	}
	return w
}
