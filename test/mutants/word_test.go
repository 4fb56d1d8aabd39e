package mutants

// wordMutants break the rules of the word (docs/decide/design.md) in ways that single terms do not
// show. The tests that play the schedules of the real code have to notice each.
var wordMutants = []mutant{
	m("word 2: a new grant is published after the old word is sealed", "Generator.install", "TestStallSchedules",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()"),
		swap("g.cur.CompareAndSwap(t, h.tracks[0])", "g.cur.CompareAndSwap(t, h.tracks[0]) && old.seal() >= 0")).
		stalled(),
	m("word 2: an old word is sealed", "Generator.install", "TestStallSchedules",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()")).stalled(),
	m("word 2: Close takes the pointer before it seals", "Generator.stop", "TestStallSchedules",
		before("if g.cur.Swap(g.closed)", "used := g.held.seal(); stall(afterClose); _ = used")).stalled(),
	m("word 2: no grant takes the place of the end", "Generator.install", "TestStallSchedules",
		never("t.hold == nil"), swap("g.cur.CompareAndSwap(t, h.tracks[0])",
			"func() bool { g.cur.Store(h.tracks[0]); return true }()")).stalled(),
	m("word 3: the end is what the swap returns", "hold.seal", "TestStallSchedules",
		swap("end := t.word.Swap(sealed)", "end := t.word.Load(); stall(afterSeal); t.word.Store(sealed)")).stalled(),
	m("word 3: no bound reaches the seal", "sealed", "TestStallSchedules", inText("uint64(1) << 63", "uint64(1) << 1")).
		stalled(),
	m("word 4: a caller adds or swaps", "Generator.attempt", "TestStallSchedules",
		swap("!t.word.CompareAndSwap(w, pos+k)", "func() bool { t.word.Store(pos + k); return false }()")).stalled(),
	m("word 4: the ticker swaps", "Generator.keepTime", "TestStallSchedules",
		swap("t.word.CompareAndSwap(w, begin)", "func() bool { t.word.Store(begin); return true }()")).stalled(),
	m("word 4: an add too many is not taken back", "Generator.tryExact", "TestStallSchedules",
		swap("pos >= limit", "pos >= limit && t.word.Add(^uint64(0)) >= 0")).stalled(),
	m("word 5: a position is checked against the end of its own grant", "Generator.attempt", "TestStallSchedules",
		swap("pos >= bound (2)", "pos >= max(bound, g.cur.Load().end.Load())")).stalled(),
	m("word 5: a position is an ID of its own grant", "Generator.next", "TestStallSchedules",
		swap("t.id(pos)", "g.cur.Load().id(pos)")).stalled(),
	m("word 7: the ticker writes to the grant that it read", "Generator.keepTime", "TestStallSchedules",
		swap("g.publishCoarse(t, tick, w, last, bound)", "g.publishCoarse(g.cur.Load(), tick, w, last, bound)")).stalled(),
	m("word 7: the ticker parks the grant that is current", "Generator.keepTime", "TestStallSchedules",
		swap("g.cur.Load().halt()", "t.halt()")).stalled(),
}
