package mutants

// simulationMutants are rules that the simulation of fleets has to see broken, within so
// many seeds: those of the word, of grants and of stores.
var simulationMutants = []mutant{
	{
		rule: "word: a renewal raises the bound no further than was acknowledged", file: "refresh.go",
		old: `old.raise(gr.Until, now)`, now: `old.raise(gr.Until+500, now)`, seeds: 200,
	},
	{
		rule: "word: a new grant starts above what the old one gave", file: "refresh.go",
		old: `	start := gr.From
	if g`, now: `	start := gr.From
	if false && g`, more: []edit{{`old.renewedBy(gr) && !old.sealed() &&`, `false &&`}}, seeds: 200,
	},
	{
		rule: "word: sealing swaps the word", file: "hold.go",
		old: `t.word.Swap(sealed)`, now: `t.word.Load()`, seeds: 200,
	},
	{
		rule: "word: what sealing returns is the end of all that was taken", file: "hold.go",
		old: `int64((end-1)/t.span)+1, h.until()`, now: `int64((end-1)/t.span), h.until()`, seeds: 200,
	},
	{
		rule: "word: the clock is read inside the step", file: "reserve.go",
		old: `	tick, sure := g.clock.read()
`, now: `	early := t.word.Load()
	tick, sure := g.clock.read()
`, more: []edit{{`before := t.word.Load()`, `before := early`}, {`		if !t.word.CompareAndSwap(w, pos+k) {
			continue
		}
`, `		if w >= now {
			if !t.word.CompareAndSwap(w, pos+k) {
				continue
			}
		} else if !t.hold.gone.Load() {
			t.word.Store(pos + k)
		} else {
			continue
		}
`}}, seeds: 200,
	},
	{
		rule: "word: it never goes back", file: "reserve.go",
		old: `if pos = max(w, now); pos >= bound {`, now: `if pos = now; pos >= bound {`, seeds: 200,
	},
	{
		rule: "word: a step back takes a rollback value whose word is behind", file: "reserve.go",
		old: `if s := tracks[(i+j)%n]; s.word.Load() <= now {
				s.halt()`, now: `if s := tracks[i]; s.word.Load() > 0 {
				s.word.Store(now)
				s.halt()`, seeds: 200, layout: "rollback",
	},
	{
		rule: "word: who was late does not wake a sealed grant", file: "next.go",
		old: `	if t.hold.gone.Load() {
		t.halt()`, now: `	if false {
		t.halt()`, pkg: ".", test: "TestCoarseHandleAfterSeal",
	},
	{
		rule: "word: handles drop their block with the grant", file: "local.go",
		old: `if l.t.hold.gone.Load() {`, now: `if false {`, seeds: 200,
	},
	{
		rule: "word: handles drop their block with the tick", file: "local.go",
		old: `if tick-l.t.from <= l.tick {`, now: `if _ = tick; true {`,
		pkg: ".", test: "TestHandleOfAnEarlierTick",
	},
	{
		rule: "word: one fence serves one generator", file: "lease/lease.go",
		old: `	if l.seal != nil {
		return nil, snowfence.ErrBound`, now: `	if false {
		return nil, snowfence.ErrBound`, seeds: 200,
	},
	{
		rule: "store: a renewal has a token", file: "lease/renew.go",
		old: `	writes := make([]Write, len(records))
	for i, r := range records {
		r.Until,`, now: `	writes := make([]Write, len(records))
	seen, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return err
	}
	for i, r := range records {
		h.records[i].Nonce = seen[i].Nonce
		r.Until,`, seeds: 200,
	},
	{
		rule: "store: a lost swap is no success", file: "lease/renew.go",
		old: `			gone++
`, now: `			h.records[i] = writes[i].New
`, seeds: 200,
	},
	{
		rule: "store: a lost swap seals at once", file: "lease/lost.go",
		old: `	if seal != nil {
		seal()
	}
	if had`, now: `	_ = seal
	if had`, seeds: 200,
	},
	{
		rule: "store: only an own nonce is adopted", file: "lease/lost.go",
		old: `!h.unanswered[r.Nonce] {`, now: `!h.unanswered[r.Nonce] && false {`, seeds: 200,
	},
	{
		rule: "store: what was adopted is used only after a swap on top of it", file: "lease/renew.go",
		old: `		if err := c.resolve(ctx); err != nil {
			return none, err
		}
`, now: `		if err := c.resolve(ctx); err != nil {
			return none, err
		}
		return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: h.records[0].Until, Nodes: int64(len(h.records))}, nil
`, seeds: 200,
	},
	{
		rule: "store: until is written before it is used", file: "lease/renew.go",
		old: `	if err := c.write(ctx, records, until); err != nil {`, now: `	if err := c.write(ctx, records, until); lost(err) {`, seeds: 200,
	},
	{
		rule: "store: the namespace is read after the swap", file: "lease/renew.go",
		old: `	return c.confirm(ctx, until)
}

// write`, now: `	return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: until, Nodes: int64(len(h.records))}, nil
}

// write`, seeds: 200,
	},
	{
		rule: "store: a grant of another generation does not count", file: "lease/renew.go",
		old: `ns.Generation != h.generation || ns.State != Active`, now: `ns.State != Active`, seeds: 200,
	},
	{
		rule: "store: nor one whose floor was raised in the meantime, though generations repeat after a set-back",
		file: "lease/renew.go",
		old:  `!h.confirmed && ns`, now: `h.floor < 0 && ns`, seeds: 200, layout: "rollback",
	},
	{
		rule: "store: a new layout begins above the floors", file: "lease/change.go",
		old: `top = max(top, r.Until, r.SkipUntil)`, now: `top = max(top, r.From)`, seeds: 200,
	},
	{
		rule: "store: the layouts before the last count in a proof", file: "lease/change_proof.go",
		old: `n.present(floor)}, n.Past...)`, now: `n.present(floor)}, n.Past[:0]...)`, seeds: 100, layout: "snowfence",
	},
	{
		rule: "store: only who sealed lowers until", file: "lease/release.go",
		old: `			if sealed {`, now: `			if sealed || true {`, seeds: 200,
	},
	{
		rule: "store: until is not lowered below what was used", file: "lease/release.go",
		old: `max(used, h.from)`, now: `h.from`, seeds: 200,
	},
	{
		rule: "store: a release does not delete the record", file: "lease/release.go",
		old: `			w.Data = c.proof()
`, now: `			w = Record{Key: r.Key, Revision: r.Revision + 1, Generation: r.Generation}
			w.Nonce, sealed = nonce, false
`, seeds: 200,
	},
	{
		rule: "store: an operator's release leaves until alone", file: "lease/manage.go",
		old: `		r = vacated(w, r, w.Text())
`, now: `		r = vacated(w, r, w.Text())
		r.Until = r.From
`, seeds: 200,
	},
	{
		rule: "store: a veto keeps a node from being leased", file: "lease/find.go",
		old: `	if r.Veto != "" {
		return true`, now: `	if false {
		return true`, seeds: 200,
	},
	{
		rule: "store: a grant starts at the floor", file: "lease/grant.go",
		old: `		from = max(from, floor(ns, r))
`, now: `		_ = r
`, seeds: 200,
	},
	{
		rule: "store: a record without a holder is still a floor", file: "lease/grant.go",
		old: `r.Nonce != "" && r.Generation >= ns.Since {
		f =`, now: `r.Holder != "" && r.Generation >= ns.Since {
		f =`, seeds: 200,
	},
	{
		rule: "store: a raised floor is one for all nodes", file: "lease/grant.go",
		old: `	f := ns.Floor
`, now: `	f := min(ns.Floor, 0)
`, seeds: 200,
	},
	{
		rule: "store: an acquisition takes no more than max(floor + 1, now + ttl)", file: "lease/grant.go",
		old: `max(from+1, t.target(now))`, now: `max(from+t.target(now)-t.layout.TickOf(now), t.target(now))`, seeds: 200,
	},
	{
		rule: "store: a renewal never lowers until", file: "lease/grant.go",
		old: `		until = max(until, r.Until)
	}
	until`, now: `		_ = r
	}
	until`, seeds: 200,
	},
	{
		rule: "store: a clock that is off stops renewals", file: "lease/grant.go",
		old: `off > skew`, now: `off < 0`, seeds: 200,
	},
	{
		rule: "store: its identity is compared", file: "internal/simulate/store.go",
		old: `strconv.Itoa(st.identity)`, now: `strconv.Itoa(0 * st.identity)`, seeds: 200,
	},
	{
		rule: "store: a record that vanished or went back is noticed", file: "lease/rollback.go",
		old: `r.Nonce == "" || r.Revision < h.records[i].Revision`, now: `false`, seeds: 200,
	},
	{
		rule: "store: also by who gives back", file: "lease/release.go",
		old: `			c.lostHold, c.foundInstead = h, nil
`, now: `			_ = h
`, seeds: 6, layout: "rollback",
	},
	{
		rule: "store: after a set-back grants start above all that can have been granted",
		file: "lease/rollback.go",
		old:  `c.ticks.layout.TickOf(now.Add(longest+c.opts.MaxSkew))+1, c.reached`, now: `c.ticks.layout.TickOf(now)`, seeds: 200,
	},
	{
		rule: "store: that allows for two clocks that are off in opposite directions",
		file: "lease/rollback.go", pkg: "./lease",
		old: `now.Add(longest+c.opts.MaxSkew)`, now: `now.Add(longest)`, test: "TestReplacedStoreAndOppositeClocks",
	},
	{
		rule: "store: a restored node leaves out what was used ahead", file: "lease/manage.go",
		old: `		r.SkipFrom, r.SkipUntil = ahead, r.Until
`, now: `		_ = ahead
`, seeds: 200,
	},
	{
		rule: "store: so does one that is restored twice", file: "lease/manage.go", pkg: "./lease",
		test: "TestRestoreTwice",
		old: `				ahead = r.SkipFrom // the two ranges are one
`, now: ``,
	},
	{
		rule: "store: an acquisition in doubt is settled first", file: "lease/renew.go",
		old: `		return c.settleAcquire(ctx)`, now: `		return c.renew(ctx)`, seeds: 200,
	},
	{
		rule: "store: a block is lost with each of its nodes", file: "lease/renew.go",
		old: `	case gone > 0 && !doubt:`, now: `	case gone > 0 && gone < len(records):
	case gone > 0 && !doubt:`, seeds: 200,
	},
	{
		rule: "hostile: nobody lowers the end of what was granted", file: "lease/holders_judge.go",
		old: `	case n.Until < low &&`, now: `	case false &&`, pkg: "./internal/simulate", test: "^TestHostileClient$",
	},
}
