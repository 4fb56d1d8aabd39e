package mutants

// spreadMutants break the rules by which a tick begins at a random slot,
// one term each.
var spreadMutants = []mutant{
	m("spread: a tick is begun once", "Generator.takeUpTo", "TestSpreadIsThat", always("w <= now"),
		swap("t.beginTick(g.spread, now)", "max(w, t.beginTick(g.spread, now))")),
	m("spread: a later grant may have fewer numbers", "track.beginTick", "TestSpreadOverAShorterSlice",
		swap("if s.size =", `if s.size < 2 { // a later grant may have a shorter slice
return now
}`)),
	m("spread: of the tick, not the position", "track.beginTick", "TestSpreadIsThat",
		swap("t.from + int64(now/t.span)", "int64(now/t.span)")),
}
