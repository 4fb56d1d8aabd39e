package mutants

// stateFileMutants break the rules of state files, one term each.
var stateFileMutants = []mutant{
	{
		rule: "state file: after a give-back that failed the file alone says what is free", file: "statefile.go",
		pkg: ".",
		old: `		f.from = f.state.until // what`, now: `		_ = f.from // what`, test: "TestStateFileReleaseThatFails",
	},
	{
		rule: "state file: a give-back is not below the grant", file: "statefile.go", pkg: ".",
		old: `min(f.state.until, max(used, f.from))`, now: `min(f.state.until, used)`, test: "TestStateFileTicks",
	},
	{
		rule: "state file: a give-back raises nothing", file: "statefile.go", pkg: ".",
		old: `min(f.state.until, max(used, f.from))`, now: `max(used, f.from)`, test: "TestStateFileTicks",
	},
	{
		rule: "state file: the next grant begins above the last", file: "statefile.go", pkg: ".",
		old: `	f.from = f.state.until
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
		old: `max(next.until, tick+1, 0)`, now: `max(next.until, tick, 0)`, test: "TestBeginStateFile|TestStateFileIsBegunAnew",
	},
	{
		rule: "state file: begun anew, a good file keeps what it says", file: "statefile.go", pkg: ".",
		old: `max(next.until, tick+1, 0)`, now: `max(tick+1, 0)`, test: "TestBeginStateFile",
	},
	{
		rule: "state file: that of another secret is not begun anew", file: "statefile.go", pkg: ".",
		old: `err != nil && !errors.As(err, &unknown)`, now: `err != nil && !errors.As(err, &unknown) && false`, test: "TestBeginStateFile",
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
}
