package mutants

// wordMutants break the rules of the word (docs/decide/design.md) in ways that single terms do not
// show. The tests that play the schedules of the real code have to notice each.
var wordMutants = []mutant{
	m("word 2: a new grant is published after the old word is sealed", "Generator.install",
		"TestStallSchedules/replace.*coarse=false",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()"),
		swap("g.cur.CompareAndSwap(t, h.tracks[0])", "g.cur.CompareAndSwap(t, h.tracks[0]) && old.seal() >= 0")).
		stalled(),
	m("word 2: an old word is sealed", "Generator.install", "TestStallSchedules/replace.*coarse=false",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()")).stalled(),
	m("word 2: no grant takes the place of the end", "Generator.install",
		"TestStallSchedules/replace.*Close.*coarse=false", never("t.hold == nil"),
		swap("g.cur.CompareAndSwap(t, h.tracks[0])", "func() bool { g.cur.Store(h.tracks[0]); return true }()")).
		stalled(),
	m("word 3: the end is what the swap returns", "hold.seal", "TestStallSchedules/Close.*coarse=false",
		swap("end := t.word.Swap(sealed)", "end := t.word.Load(); stall(afterSeal); t.word.Store(sealed)")).stalled(),
	m("word 3: no bound reaches the seal", "sealed", "TestStallSchedules/TryNext_Fill_Close.*coarse=false",
		inText("uint64(1) << 63", "uint64(1) << 1")).stalled(),
	m("word 4: a caller adds or swaps", "Generator.attempt", "TestStallSchedules/TryNext_TryNext.*coarse=false",
		swap("!t.word.CompareAndSwap(w, pos+k)", "func() bool { t.word.Store(pos + k); return false }()")).stalled(),
	m("word 4: the ticker swaps", "Generator.keepTime", "TestStallSchedules/coarse=true",
		swap("t.word.CompareAndSwap(w, begin)", "func() bool { t.word.Store(begin); return true }()")).stalled(),
	m("word 5: a position is checked against the end of its own grant", "Generator.attempt",
		"TestStallSchedules/replace.*coarse=false",
		swap("pos >= bound (2)", "pos >= max(bound, g.cur.Load().end.Load())")).stalled(),
	m("word 5: a position is an ID of its own grant", "Generator.next", "TestStallSchedules/replace.*coarse=false",
		swap("t.id(pos)", "func() ID { _ = t; return g.cur.Load().id(pos) }()")).stalled(),
	m("word 7: the ticker writes to the grant that it read", "Generator.keepTime",
		"TestStallSchedules/replace.*coarse=true",
		swap("g.publishCoarse(t, tick, w, last, bound)", "g.publishCoarse(g.cur.Load(), tick, w, last, bound)")).
		stalled(),
}
