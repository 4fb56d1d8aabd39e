package mutants

// wordMutants break the rules of the word (docs/decide/design.md) in ways
// that single terms do not show. The tests that play the schedules of the
// real code have to notice each.
var wordMutants = []mutant{
	m("word 2: a new grant is published after the old word is sealed", "Generator.installGrant",
		"TestStallSchedules/replace.*coarse=false",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()"),
		swap("g.cur.CompareAndSwap(t, h.tracks[0])", "g.cur.CompareAndSwap(t, h.tracks[0]) && old.seal() >= 0")).
		stalled(),
	m("word 2: an old word is sealed", "Generator.installGrant", "TestStallSchedules/replace.*coarse=false",
		swap("max(start, old.seal())", "max(start, old.until()-2)"), drop("old.seal()")).stalled(),
	m("word 2: no grant takes the place of the end", "Generator.installGrant",
		"TestStallSchedules/replace.*Close.*coarse=false", never("t.hold == nil"),
		swap("g.cur.CompareAndSwap(t, h.tracks[0])", "func() bool { g.cur.Store(h.tracks[0]); return true }()")).
		stalled(),
	m("position: a scatter value comes once in a tick", "track.scatter", "TestEachIDOnce",
		swap("turn * t.turnMul", "turn / 2 * t.turnMul")),
	m("region: it has each scatter value", "newSide", "TestMeetInEachOrder",
		inText("FieldRollback, FieldScatter, FieldTag:",
			"FieldRollback, FieldTag: case FieldScatter: b.field = sideZero")),
	m("region: it has each tag", "newSide", "TestMeetInEachOrder", inText("FieldRollback, FieldScatter, FieldTag:",
		"FieldRollback, FieldScatter: case FieldTag: b.field = sideZero")),
	m("layers: none has a tag in its IDs", "compat/internal/process.partOf", "TestPartOfRefuses",
		never("l.Bits(snowfence.FieldTag) > 0")),
	m("layers: none has a field above the time", "compat/internal/process.partOf", "TestPartOfRefuses",
		never("l.Fields[0].Name != snowfence.FieldTime")),
}
