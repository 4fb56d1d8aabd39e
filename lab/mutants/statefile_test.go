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
