package mutants

// sonyflakeMutants break the rules of the layers for sony/sonyflake, one
// term each.
var sonyflakeMutants = []mutant{
	m("sonyflake: no ID of the time unit of the start", "compat/sonyflake.New", "TestNoIDOfTheFirstTimeUnit",
		swap("process.Options{From: 1}", "process.Options{}")),
	m("sonyflake: starts within one time unit are one epoch", "compat/sonyflake.Settings.layout",
		"TestStartTimesOfOneTimeUnitShareOneGenerator",
		swap("l.Epoch.UnixNano() / int64(l.Tick) * int64(l.Tick)", "l.Epoch.UnixNano()")),
	m("sonyflake: a start before 1900 has no known nanoseconds", "compat/sonyflake.Settings.layout",
		"TestStartTimeBefore1900IsRefused", never("err != nil")),
	m("sonyflake: after the lifetime NextID says so", "compat/sonyflake.Settings.open", "TestLifetimeIsOverAtTheStart",
		never("errors.Is(err, snowfence.ErrLifetime)")),
	m("sonyflake: version 1 has ticks of 10 ms", "compat/sonyflake/v1.NewOn", "TestFences",
		swap("l.Tick != tick || l.Bits(snowfence.FieldTime) != BitLenTime",
			"l.Bits(snowfence.FieldTime) != BitLenTime")),
	m("sonyflake: version 1 has 39 bits of time", "compat/sonyflake/v1.NewOn", "TestFences",
		never("l.Bits(snowfence.FieldTime) != BitLenTime")),
	m("sonyflake: version 1 has 8 bits of sequence", "compat/sonyflake/v1.NewOn", "TestFences",
		inText(`l.Bits(snowfence.FieldSequence) != BitLenSequence || `, ``)),
	m("sonyflake: version 1 has 16 bits of machine", "compat/sonyflake/v1.NewOn", "TestFences",
		inText(` || l.Bits(snowfence.FieldNode) != BitLenMachineID`, ``)),
}
