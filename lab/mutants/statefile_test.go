package mutants

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
