package mutants

// stateFileMutants break the rules of state files, one term each.
var stateFileMutants = []mutant{
	{
		rule: "state file: after a give-back that failed the file alone says what is free", file: "statefile.go",
		pkg: ".",
		old: `		f.floor = f.state.until // what`, now: `		_ = f.floor // what`, test: "TestStateFileReleaseThatFails",
	},
	{
		rule: "state file: a give-back is not below the grant", file: "statefile.go", pkg: ".",
		old: `max(f.floor, min(used, f.state.until))`, now: `min(used, f.state.until)`, test: "TestStateFileTicks",
	},
	{
		rule: "state file: a give-back raises nothing", file: "statefile.go", pkg: ".",
		old: `max(f.floor, min(used, f.state.until))`, now: `max(f.floor, used)`, test: "TestStateFileTicks",
	},
	{
		rule: "state file: the next grant begins above the last", file: "statefile.go", pkg: ".",
		old: `	f.floor, f.own.from = f.state.until, f.state.until
	return f, nil`, now: `	return f, nil`, test: "TestStateFileTicks",
	},
	{
		rule: "state file: an older copy is refused", file: "statefile_content.go", pkg: ".",
		old: `; s.writes < counted {`, now: `; false {`, test: "TestStateFileIsBegunAnew/an_older_copy",
	},
	{
		rule: "state file: a deleted file is refused", file: "statefile_content.go", pkg: ".",
		old: `errors.Is(err, fs.ErrNotExist) && counted == 0`, now: `errors.Is(err, fs.ErrNotExist)`, test: "TestStateFileIsBegunAnew/missing",
	},
	{
		rule: "state file: writes are counted", file: "statefile.go", pkg: ".",
		old: `	countWrites(f.lock, next.writes)
`, now: ``, test: "TestStateFileIsBegunAnew",
	},
	{
		rule: "state file: one begun anew counts on", file: "statefile_content.go", pkg: ".",
		old: `max(s.writes, counted)`, now: `s.writes`, test: "TestStateFileIsBegunAnew/an_older_copy",
	},
	{
		rule: "state file: begun anew, it goes on after the time", file: "statefile.go", pkg: ".",
		old: `max(next.until, tick+1, 0)`, now: `max(next.until, tick, 0)`, test: "TestResetStateFile|TestStateFileIsBegunAnew",
	},
	{
		rule: "state file: begun anew, a good file keeps what it says", file: "statefile.go", pkg: ".",
		old: `max(next.until, tick+1, 0)`, now: `max(tick+1, 0)`, test: "TestResetStateFile",
	},
	{
		rule: "state file: that of another secret is not begun anew", file: "statefile.go", pkg: ".",
		old: `err != nil && !errors.As(err, &unknown)`, now: `err != nil && !errors.As(err, &unknown) && false`, test: "TestResetStateFile",
	},
	{
		rule: "state file: one key has one number", file: "statefile_content.go", pkg: ".",
		old: `case id == "" || id == keys[i]:`, now: `case id == "" || keys[i] != "":`, test: "TestStateFileKnowsItsSecrets",
	},
	{
		rule: "state file: a key that is not known makes no IDs", file: "statefile_content.go", pkg: ".",
		old: `keys[i] == "" && i < len(given)-1`, now: `keys[i] == ""`, test: "TestStateFileKnowsItsSecrets",
	},
	{
		rule: "state file: a file that says nothing of its secrets is refused", file: "statefile_content.go", pkg: ".",
		old: `if want.keys != nil {`, now: `if false {`, test: "TestStateFileOfTheFirstVersion",
	},
	{
		// Slices are refused by the rule for a process, too: here both have the whole sequence.
		rule: "slice: two of one file have no number in common", file: "statefile_slice.go", pkg: ".",
		old: `		if v.overlap(u.numbers) {`, now: `		if false {`, test: "TestStateFileIsForOne",
	},
	{
		rule: "slice: two of one process have no number in common", file: "statefile_slice.go", pkg: ".",
		old: `if v.overlap(u.numbers) && (u.slice || v.slice) {`, now: `if false {`, test: "TestSlicesOfOneProcess",
	},
	{
		rule: "slice: the whole sequence has numbers of each slice", file: "statefile_slice.go", pkg: ".",
		old: `(u.slice || v.slice)`, now: `u.slice`, test: "TestSlicesOfOneProcess",
	},
	{
		rule: "slice: and each slice has numbers of the whole sequence", file: "statefile_slice.go", pkg: ".",
		old: `(u.slice || v.slice)`, now: `v.slice`, test: "TestSlicesOfOneProcess",
	},
	{
		rule: "slice: one number is enough to overlap", file: "statefile_slice.go", pkg: ".",
		old: `n.first <= m.last &&`, now: `n.first < m.last &&`, test: "TestSlicesOfOneProcess",
	},
	{
		rule: "slice: at either end", file: "statefile_slice.go", pkg: ".",
		old: `m.first <= n.last }`, now: `m.first < n.last }`, test: "TestSlicesOfOneProcess",
	},
	{
		rule: "slice: it begins above all that the file granted", file: "statefile_slice.go", pkg: ".",
		old: `	u.from = f.state.until
	return sync`, now: `	return sync`, test: "TestSlicesOfOneFile",
	},
	{
		rule: "slice: a give-back beside another one frees nothing", file: "statefile.go", pkg: ".",
		old: `if f.sharedBeside(u) {`, now: `if false {`, test: "TestACrashBesideASliceThatWasClosed",
	},
	{
		rule: "slice: what another one used is not free", file: "statefile.go", pkg: ".",
		old: `	f.floor = max(f.floor, min(used, f.state.until))
	if`, now: `	if`, test: "TestSlicesOfOneFile",
	},
	{
		rule: "slice: a file keeps it", file: "statefile_slice.go", pkg: ".",
		old: `case !u.slice && len(f.state.slices) > 0:`, now: `case false:`, test: "TestAFileKeepsItsSlice",
	},
	{
		rule: "slice: a file begun anew keeps it", file: "statefile_content.go", pkg: ".",
		old: `f.state.until, f.state.slices = s.until, s.slices`, now: `f.state.until = s.until`, test: "TestAFileKeepsItsSlice",
	},
	{
		rule: "slice: a fence that does not bind gets nothing beside others", file: "statefile_slice.go", pkg: ".",
		old: `case len(f.bound) > 0 && !slices.Contains(f.bound, u):`, now: `case false:`, test: "TestUnboundBesideSlices",
	},
	{
		rule: "slice: it has no reserved numbers", file: "layout_beside.go", pkg: ".",
		old: `first < l.First || last`, now: `last`, test: "TestSliceIsRefused",
	},
	{
		rule: "slice: number 0 alone is not the whole sequence", file: "layout_beside.go", pkg: ".",
		old: `case last == 0 && l.Last > 0:`, now: `case false:`, test: "TestSliceIsRefused",
	},
	{
		rule: "folder: a node whose IDs are ahead of the clock comes last", file: "statedir.go", pkg: ".",
		old: `case f.state.until <= now:`, now: `case now >= 0:`, test: "TestStateDirTakesNodesAheadLast",
	},
	{
		rule: "folder: of these the one that can be used soonest", file: "statedir.go", pkg: ".",
		old: `f.state.until < ahead.state.until:`, now: `f.state.until > ahead.state.until:`, test: "TestStateDirTakesNodesAheadLast",
	},
	{
		rule: "folder: nodes of others tell its layout", file: "statedir.go", pkg: ".",
		old: `	if err := sameLayout(dir, s); err != nil {
		return nil, err
	}
`, now: ``, test: "TestStateDirHasOneLayout",
	},
	{
		rule: "folder: also before their first grant", file: "statedir.go", pkg: ".",
		old: `	return f.write(f.state)`, now: `	return nil`, test: "TestStateDirHasOneLayout",
	},
	{
		rule: "folder: a damaged file is no free node", file: "statedir.go", pkg: ".",
		old: `		case err != nil:
			return nil, closeFirst(ahead, err)`, now: `		case err != nil:
			continue`, test: "TestStateDirDamaged",
	},
	{
		rule: "folder: it is locked while a node is looked for", file: "statedir.go", pkg: ".",
		old: `if !errors.Is(err, ErrBound) || waited >= most {`, now: `if true {`, test: "TestStateDirWaitsForTheFolder",
	},
	{
		rule: "folder: a closed generator frees its node", file: "statedir.go", pkg: ".",
		old: `	return f.Close()
}

// StateDir`, now: `	return nil
}

// StateDir`, test: "TestOpen",
	},
}
