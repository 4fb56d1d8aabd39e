package mutants

var leaseMutants = []mutant{
	m("ticket: a lost one shows a rollback", "lease/internal/claim.storeClaim.remind", "^TestScripts/ticket_lost$",
		drop("c.lostHold = h")),
	m("ticket: no tick of a lost one is granted again", "lease/internal/claim.storeClaim.remind",
		"^TestScripts/ticket_lost$", drop("c.noteReach(t.From, t.Until)")),
	m("a lost swap seals before anything else", "lease/internal/claim.storeClaim.write", "TestLeases/two_holders",
		before(`return c.loseHold(nil, fmt.Errorf("another`, "_, _, _ = c.st.Get(ctx, keys(h.records))")).in("./lease/store/storetest"),
	m("nothing is granted while the floors are read", "lease/scope.freeze", "TestLeases/renewal_while_the_floors",
		drop("ns.State = Changing"), drop("ns.Generation++")).in("./lease/store/storetest"),
	m("grants follow the clock that stamps IDs after a step back", "lease/internal/claim.ClockOf",
		"TestGeneratorStepsBack", swap("s.Layout().Bits(snowfence.FieldRollback) > 0", "true")).in("./lease"),
	m("with rollback bits it is the wall clock", "lease/internal/claim.ClockOf", "TestRollbackHeals",
		swap("s.Layout().Bits(snowfence.FieldRollback) > 0", "false")).in("./lease"),
	m("a clock that was ahead is corrected at once", "lease/internal/claim.Setup.correct", "TestClockGlitch",
		drop("s.Clock.Correct()")).in("./lease"),
	m("a lease looks at its clock when a generator waits", "lease.Lease.Grant", "TestWhoWaitsLooksAtTheClock",
		drop("l.setup.Clock.Sync()")),
	m("a vanished namespace too", "lease/internal/claim.storeClaim.confirm", "^TestScripts/confirm$",
		drop("c.lossAfter, c.lossProven = &h.generation, true (1)")),
	m("suspect: by the identity of before", "lease/store.Memory.Suspect", "TestMemory/^suspicion$",
		always("m.id == identity")).in("./lease"),
	m("also when the reply is lost", "lease/internal/claim.storeClaim.settleRenewal", "TestLeases/lapsed",
		swap("h.from (1)", "_"), swap("max(h.from, r.From)", "r")).in("./lease/store/storetest"),
	m("sublease: a node that was released has no holder", "lease/sublet.division.release", "^TestBoundsOfSubleases$",
		drop("s.tenancy = 0")),
	m("sublease: a lessor looks at its store every five seconds", "lease.Lease.Lend", "^TestLessorsBeat$",
		drop("l.pace.most = heartbeat")).in("./lease/sublet"),
}

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

// stateFileMutants break the rules of state files, one term each.
var stateFileMutants = []mutant{
	m("state file: after a give-back that failed the file alone says what is free", "statefile.Fence.releaseShare",
		"TestFileReleaseThatFails", swap("f.floor (4)", "_"), swap("f.state.until (3)", "f.floor")),
	m("state file: the next grant begins above the last", "statefile.File", "TestFileTicks",
		drop("f.floor, f.ownShare.from = f.state.until, f.state.until")),
	m("state file: writes are counted", "statefile.Fence.writeState", "TestFileIsBegunAnew",
		drop("countWrites(f.lock, next.writes)")),
	m("slice: it begins above all that the file granted", "statefile.Fence.bindShare", "TestSlicesOfOneFile",
		drop("u.from = f.state.until")),
}

// closeMutants break the rules of Close, Shutdown and Release, one term
// each.
var closeMutants = []mutant{
	m("close: nothing is handed out after the seal", "lease.Lease.stop", "TestCloseOfAStoreThatHangs",
		drop("l.use.spent = true")),
	m("close: the lease seals its generator", "lease.Lease.stop", "TestCloseOfAStoreThatHangs", swap("used (2)", "_"),
		swap("seal()", "seal")),
	m("release: a pending acquisition stays until it is back", "lease/internal/claim.storeClaim.abandonAcquire",
		"TestShutdownOfAnAcquisitionWithoutAnAnswer",
		before(`return fmt.Errorf("lease: giving`, "c.held = nil")).in("./lease"),
}

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
