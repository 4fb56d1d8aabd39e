package mutants

// spreadMutants break the rules by which a tick begins at a random slot, one term each.
var spreadMutants = []mutant{
	{
		rule: "spread: how many are left counts from where the tick begins", file: "reserve.go", pkg: ".",
		old: `k := min(n, bound-pos)`, now: `k := min(n, bound-max(w, now))`, test: "TestSpreadTakesTheRest|TestSpreadIsThat",
	},
	{
		rule: "spread: a tick is begun once", file: "reserve.go", pkg: ".",
		old: `if w <= now {
			pos = t.begin(g.spread, now)`, now: `if true {
			pos = max(w, t.begin(g.spread, now))`, test: "TestSpreadIsThat",
	},
	{
		rule: "spread: no word goes back to where its tick begins", file: "reserve.go", pkg: ".",
		old: `if w <= now {
			pos = t.begin`, now: `if true {
			pos = t.begin`, test: "TestSpreadTakesTheRest|TestSpreadIsThat",
	},
	{
		rule: "spread: a tick after one that is used up exactly is begun too", file: "reserve.go", pkg: ".",
		old: `if w <= now {`, now: `if w < now {`, test: "TestSpreadIsThat",
	},
	{
		rule: "spread: one ID is added only where the tick goes on", file: "reserve.go", pkg: ".",
		old: `if n == 1 && w == pos {`, now: `if n == 1 && w >= now {`, test: "TestSpreadTakesTheRest|TestSpreadIsThat",
	},
	{
		rule: "spread: the ticker begins ticks too", file: "next.go", pkg: ".",
		old: `begin := t.begin(g.spread, now)`, now: `begin := now`, test: "TestTickerBegins",
	},
	{
		rule: "spread: the ticker begins none that was begun", file: "next.go", pkg: ".",
		old: `for w <= now && w < begin &&`, now: `for w < begin &&`, test: "TestTickerBeginsNoTickThatIDsRanInto",
	},
	{
		rule: "spread: the ticker begins one that nobody was in", file: "next.go", pkg: ".",
		old: `for w <= now && w < begin &&`, now: `for w < now && w < begin &&`, test: "TestTickerBegins",
	},
	{
		rule: "spread: the ticker says where the tick begins", file: "next.go", pkg: ".",
		old: `			last = begin
`, now: `			last = now
`, test: "TestTickerBegins",
	},
	{
		rule: "spread: a later grant may have fewer numbers", file: "spread.go", pkg: ".",
		old: `s.size = min(s.size, t.hold.seqs); s.size < 2`, now: `s.size < 2`, test: "TestSpreadOverAShorterSlice",
	},
	{
		rule: "spread: it is within the first slice", file: "spread.go", pkg: ".",
		old: `spread > n {`, now: `false {`, test: "TestSpreadRefused",
	},
	{
		rule: "spread: it is within the layout", file: "spread.go", pkg: ".",
		old: `case spread > most:`, now: `case false:`, test: "TestSpreadRefused",
	},
	{
		rule: "spread: the sequence is lowest", file: "spread.go", pkg: ".",
		old: `case low != FieldSequence:`, now: `case false:`, test: "TestSpreadRefused",
	},
	{
		rule: "spread: encrypted IDs need none", file: "spread.go", pkg: ".",
		old: `case l.Cipher != Plain:`, now: `case false:`, test: "TestSpreadRefused",
	},
	{
		rule: "spread: each tick has its own slot", file: "spread.go", pkg: ".",
		old: `now + s.slot(t.from+int64(now/t.span))`, now: `now + s.slot(t.from)`, test: "TestSpreadIsEven",
	},
	{
		rule: "spread: of the tick, not the position", file: "spread.go", pkg: ".",
		old: `s.slot(t.from+int64(now/t.span))`, now: `s.slot(int64(now/t.span))`, test: "TestSpreadIsThat",
	},
}
