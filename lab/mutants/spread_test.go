package mutants

// spreadMutants break the rules by which a tick begins at a random slot,
// one term each.
var spreadMutants = []mutant{
	m("spread: a tick is begun once", "Generator.takeUpTo", "TestSpreadIsThat",
		always("w <= now"),
		swap("t.beginTick(g.spread, now)", "max(w, t.beginTick(g.spread, now))")),
	m("spread: a later grant may have fewer numbers", "track.beginTick", "TestSpreadOverAShorterSlice",
		swap("if s.size =", `if s.size < 2 { // a later grant may have a shorter slice
return now
}`)),
	m("spread: it is within the layout", "Layout.CheckSpread", "TestSpreadRefused", never("spread > most")),
	m("spread: the sequence is lowest", "Layout.CheckSpread", "TestSpreadRefused", never("low != FieldSequence")),
	m("spread: encrypted IDs need none", "Layout.CheckSpread", "TestSpreadRefused", never("l.Cipher != Plain")),
	m("spread: each tick has its own slot", "track.beginTick", "TestSpreadIsEven",
		swap("t.from + int64(now/t.span)", "t.from")),
	m("spread: of the tick, not the position", "track.beginTick", "TestSpreadIsThat",
		swap("t.from + int64(now/t.span)", "int64(now/t.span)")),
}
