package mutants

// simulationMutants are rules that the simulation of fleets has to see
// broken, within so many seeds: rules of the word, of grants and of stores.
var simulationMutants = []mutant{
	m("word: a renewal raises the bound no further than was acknowledged", "Generator.installGrant", "",
		swap("old.raiseEnd(gr.Until, now)", "old.raiseEnd(gr.Until+500, now)")).seeds(200, ""),
	m("word: a new grant starts above what the old one gave", "Generator.installGrant", "",
		never("g.scheme.rollBits == 0 || old.overlaps(gr)"), never("old.renewedBy(gr) && !old.sealed()"+
			" && (old.raiseEnd(gr.Until, now) || old.until() >= gr.Until)")).seeds(200, ""),
	m("word: sealing swaps the word", "hold.seal", "", swap("t.word.Swap(sealed)", "t.word.Load()")).seeds(200, ""),
	m("word: the clock is read inside the step", "Generator.takeUpTo", "",
		swap("before := t.word.Load()", "before := early"),
		before("tick, sure := g.clock.Read()", "early := t.word.Load()"), swap("if !t.word.CompareAndSwap(w, pos+k) {",
			"if w >= now { if !t.word.CompareAndSwap(w, pos+k) { continue } } else if !t.hold.gone.Load() { t.word.Store(pos + k) } else { continue }")).seeds(200, ""),
	m("word: a step back takes a rollback value whose word is behind", "Generator.switchRollback", "",
		inText(`if s := tracks[(i+j)%n]; s.word.Load() <= now {
				s.closeFastPath()`, `if s := tracks[i]; s.word.Load() > 0 {
				s.word.Store(now)
				s.closeFastPath()`)).seeds(200, "rollback"),
	m("store: a renewal has a token", "lease/internal/claim.storeClaim.write", "",
		before("for i, r", `seen, _, err := c.st.Get(ctx, keys(h.records))
if err != nil {
return err
}
for i := range seen {
h.records[i].Nonce = seen[i].Nonce
}`)).seeds(200, ""),
	m("store: a lost swap is no success", "lease/internal/claim.storeClaim.swap", "",
		swap("gone = append(gone, i)", "h.records[i] = writes[i].New")).seeds(200, ""),
	m("store: a lost swap seals at once", "lease.Lease.sealIfLost", "",
		swap("if seal != nil { seal() }", "_ = seal")).seeds(200, ""),
	m("store: what was adopted is used only after a swap on top of it", "lease/internal/claim.storeClaim.proceed", "",
		inText(`		if err := c.settleRenewal(ctx); err != nil {
			return none, err
		}
`, `		if err := c.settleRenewal(ctx); err != nil {
			return none, err
		}
		return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: h.records[0].Until, Nodes: int64(len(h.records))}, nil
`)).seeds(200, ""),
	m("store: until is written before it is used", "lease/internal/claim.storeClaim.renew", "",
		swap("err != nil", "IsLost(err)")).seeds(200, ""),
	m("store: the namespace is read after the swap", "lease/internal/claim.storeClaim.renew", "",
		swap("return c.confirm(ctx, until, now)", "return snowfence.Grant{Node: records[0].Node, From: from, "+
			"Until: until, Nodes: int64(len(records))}, nil")).seeds(200, ""),
	m("store: a new layout begins above the floors", "lease/scope.highest", "",
		swap("max(top, r.Until)", "max(top, r.From)")).seeds(200, ""),
	m("store: the layouts before the last count in a proof", "lease/scope.Namespace.add", "TestMatrixOfFeatures",
		swap("ns.Regions (1)", "ns.Regions[max(0, len(ns.Regions)-1):]")),
	m("store: only who sealed lowers until", "lease/internal/claim.storeClaim.GiveBack", "",
		always("o != nil && o.Node == h.records[0].Node && o.From == h.from"), swap("o.Used", "h.from")).seeds(200, ""),
	m("store: a release does not delete the record", "lease/internal/claim.storeClaim.GiveBack", "",
		before("if !h.confirmed", `w = store.Record{Key: r.Key, Revision: r.Revision + 1, Generation: r.Generation}
w.Nonce, o = nonce, nil`)).seeds(200, ""),
	m("store: an operator's release leaves until alone", "lease/scope.edit", "",
		before("if old ==", "r.Until = r.From")).seeds(200, ""),
	m("store: a grant starts at the floor", "lease/internal/claim.Ticks.grant", "", swap("from (3)", "_"),
		swap("max(from, ns.FloorOf(r))", "r")).seeds(200, ""),
	m("store: a record without a holder is still a floor", "lease/scope.Namespace.FloorOf", "",
		swap("r.Nonce", "r.Holder")).seeds(200, ""),
	m("store: a raised floor is one for all nodes", "lease/scope.Namespace.FloorOf", "",
		swap("ns.Floor", "int64(0)")).seeds(200, ""),
	m("store: an acquisition takes no more than max(floor + 1, now + ttl)", "lease/internal/claim.Ticks.grant",
		"TestScripts/acquire", swap("from + 1", "from+t.Target(now)-t.Layout.TickOf(now)")),
	m("store: a renewal never lowers until", "lease/internal/claim.Ticks.renewal", "", swap("until (2)", "_"),
		swap("max(until, r.Until)", "r")).seeds(200, ""),
	m("store: a clock that is off stops renewals", "lease/internal/answer.CompareClocks", "",
		always("off <= skew")).seeds(200, ""),
	m("store: its identity is compared", "lab/simulate.medium.name", "",
		swap("st.identity", "0 * st.identity")).seeds(200, ""),
	m("store: a record that vanished or went back is noticed", "lease/internal/claim.storeClaim.noticeRollback", "",
		never("r.Revision < known.Revision || replaced")).seeds(200, ""),
	m("store: also by who gives back", "lease/internal/claim.storeClaim.GiveBack", "TestScripts/give",
		swap("c.lostHold, c.foundInstead = h, nil", "_ = h")),
	m("store: after a set-back grants start above all that can have been granted", "lease/scope.Namespace.raise", "",
		inText("ns.above(ns.Layout, now)", "ns.Layout.TickOf(now)"),
		also("lease/scope.Namespace.Raise", drop("ns.Floor = max(ns.Floor, reached)"))).seeds(200, ""),
	m("store: an acquisition in doubt is settled first", "lease/internal/claim.storeClaim.proceed", "",
		swap("h.pending", "false")).seeds(200, ""),
	m("store: a block is lost with each of its nodes", "lease/internal/claim.storeClaim.write", "",
		before("case slices.ContainsFunc", "case len(gone) > 0 && len(gone) < len(records):")).seeds(200, ""),
}

// subleaseMutants are rules of subleases. The simulation must notice them,
// too. lab/mutants/terms breaks the terms of the same files, and tests
// notice those.
var subleaseMutants = []mutant{
	sublease("the lessor gives back above all of them", "end", swap("max(end, s.until)", "max(end, s.from)")),
	sublease("an ID that comes twice shows without its grant, too", "begin",
		swap("max(s.until, d.grant.From, t.Back(now))", "max(d.grant.From, t.Back(now))"),
		also("lab/simulate.sim.compareClaim", before("for n := c.node", "return"))),
}

// sublease is a rule of the division of a grant.
func sublease(rule, method string, ops ...op) mutant {
	return m("sublease: "+rule, "lease/sublet.division."+method, "^TestSublets$", ops...).seeds(300, "")
}
