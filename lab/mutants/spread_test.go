package mutants

// spreadMutants break the rules by which a tick begins at a random slot, one term each.
var spreadMutants = []mutant{
	m("spread: how many are left counts from where the tick begins", "Generator.attempt",
		"TestSpreadIsThat",
		swap("bound - pos", "bound-max(w, now)")),
	m("spread: a tick is begun once", "Generator.attempt", "TestSpreadIsThat",
		always("w <= now"),
		swap("t.begin(g.spread, now)", "max(w, t.begin(g.spread, now))")),
	m("spread: one ID is added only where the tick goes on", "Generator.attempt",
		"TestSpreadIsThat",
		swap("w == pos", "w >= now")),
	m("spread: the ticker begins ticks too", "Generator.keepTime", "TestTickerBegins",
		swap("t.begin(g.spread, now)", "now")),
	m("spread: the ticker says where the tick begins", "Generator.keepTime", "TestTickerBegins",
		swap("begin (5)", "now")),
	m("spread: a later grant may have fewer numbers", "track.begin", "TestSpreadOverAShorterSlice",
		swap("if s.size =", `if s.size < 2 { // a later grant may have a shorter slice
return now
}`)),
	m("spread: it is within the first slice", "checkGrant", "TestSpreadRefused", never("spread > n")),
	m("spread: it is within the layout", "Layout.CheckSpread", "TestSpreadRefused", never("spread > most")),
	m("spread: the sequence is lowest", "Layout.CheckSpread", "TestSpreadRefused", never("low != FieldSequence")),
	m("spread: encrypted IDs need none", "Layout.CheckSpread", "TestSpreadRefused", never("l.Cipher != Plain")),
	m("spread: each tick has its own slot", "track.begin", "TestSpreadIsEven",
		swap("t.from + int64(now/t.span)", "t.from")),
	m("spread: of the tick, not the position", "track.begin", "TestSpreadIsThat",
		swap("t.from + int64(now/t.span)", "int64(now/t.span)")),
}
