package mutants

// sonyflakeMutants break the rules of the layers for sony/sonyflake, one term each.
var sonyflakeMutants = []mutant{
	{
		rule: "sonyflake: a new generator stays above what others used", file: "compat/internal/process/registry.go",
		pkg: "./compat/internal/process",
		old: `max(sp.floor, o.First)`,
		now: `o.First`, test: "TestFirstTick",
	},
	{
		rule: "sonyflake: a layer's first tick", file: "compat/internal/process/registry.go",
		pkg: "./compat/internal/process",
		old: `max(sp.floor, o.First)`,
		now: `sp.floor`, test: "TestFirstTick",
	},
	{
		rule: "sonyflake: no ID of the time unit of the start", file: "compat/sonyflake/sonyflake.go",
		pkg: "./compat/sonyflake",
		old: `process.Options{First: 1}`,
		now: `process.Options{}`, test: "TestNoIDOfTheFirstTimeUnit",
	},
	{
		rule: "sonyflake: starts within one time unit are one epoch", file: "compat/sonyflake/settings.go",
		pkg: "./compat/sonyflake",
		old: `time.Unix(0, l.Epoch.UnixNano()/int64(l.Tick)*int64(l.Tick))`,
		now: `time.Unix(0, l.Epoch.UnixNano())`, test: "TestStartTimesOfOneTimeUnitShareOneGenerator",
	},
	{
		rule: "sonyflake: a start before 1900 has no known nanoseconds", file: "compat/sonyflake/settings.go",
		pkg: "./compat/sonyflake",
		old: `err := l.Validate(); err != nil`,
		now: `err := l.Validate(); err != nil && false`, test: "TestStartTimeBefore1900IsRefused",
	},
	{
		rule: "sonyflake: a machine ID fits its bits", file: "compat/sonyflake/settings.go",
		pkg: "./compat/sonyflake",
		old: `n < 0 || n >= 1<<bits`,
		now: `n < 0`, test: "TestMachineIDIsChecked",
	},
	{
		rule: "sonyflake: a machine ID is not negative", file: "compat/sonyflake/settings.go",
		pkg: "./compat/sonyflake",
		old: `n < 0 || n >= 1<<bits`,
		now: `n >= 1<<bits`, test: "TestMachineIDIsChecked",
	},
	{
		rule: "sonyflake: a machine ID that was refused is not used", file: "compat/sonyflake/settings.go",
		pkg: "./compat/sonyflake",
		old: `!st.CheckMachineID(n)`,
		now: `false`, test: "TestMachineIDIsChecked",
	},
	{
		rule: "sonyflake: after the lifetime NextID says so", file: "compat/sonyflake/sonyflake.go",
		pkg: "./compat/sonyflake",
		old: `errors.Is(err, snowfence.ErrLifetime) {`,
		now: `false {`, test: "TestLifetimeIsOverAtTheStart",
	},
	{
		rule: "sonyflake: the fence is not encrypted", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Cipher != snowfence.Plain`,
		now: `false`, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence's IDs stay positive", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Width() > 63`,
		now: `false`, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence has no rollback bits", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Bits(snowfence.FieldRollback) > 0`,
		now: `false`, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence has a sequence", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Bits(snowfence.FieldSequence) == 0 || `,
		now: ``, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence has nodes", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: ` || l.Bits(snowfence.FieldNode) == 0`,
		now: ``, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence has its nodes below the sequence", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Fields[1].Name != snowfence.FieldSequence`,
		now: `false`, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: the fence begins with a whole tick", file: "compat/sonyflake/fence.go",
		pkg: "./compat/sonyflake",
		old: `l.Epoch.UnixNano()%int64(l.Tick) != 0`,
		now: `false`, test: "TestFencesThatCannotBeShown",
	},
	{
		rule: "sonyflake: version 1 has ticks of 10 ms", file: "compat/sonyflake/v1/sonyflake.go",
		pkg: "./compat/sonyflake/v1",
		old: `l.Tick != tick || `,
		now: ``, test: "TestFences",
	},
	{
		rule: "sonyflake: version 1 has 39 bits of time", file: "compat/sonyflake/v1/sonyflake.go",
		pkg: "./compat/sonyflake/v1",
		old: `l.Bits(snowfence.FieldTime) != BitLenTime ||`,
		now: `false ||`, test: "TestFences",
	},
	{
		rule: "sonyflake: version 1 has 8 bits of sequence", file: "compat/sonyflake/v1/sonyflake.go",
		pkg: "./compat/sonyflake/v1",
		old: `l.Bits(snowfence.FieldSequence) != BitLenSequence || `,
		now: ``, test: "TestFences",
	},
	{
		rule: "sonyflake: version 1 has 16 bits of machine", file: "compat/sonyflake/v1/sonyflake.go",
		pkg: "./compat/sonyflake/v1",
		old: ` || l.Bits(snowfence.FieldNode) != BitLenMachineID`,
		now: ``, test: "TestFences",
	},
}
