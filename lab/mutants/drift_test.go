package mutants

// driftMutants break the rules of compat/idgen, and of numbers that begin
// above 0, one term each.
var driftMutants = []mutant{
	m("snow-drift: other numbers of a worker replace its generator", "compat/idgen.enter", "TestOtherNumbersOfAWorker",
		swap("process.Options{Lead: o.lead(), Replace: true, Time: clock}",
			"process.Options{Lead: o.lead(), Time: clock}")),
	m("snow-drift: another fence gives the one before back", "compat/idgen.SetFence", "TestNextIdOverAFence",
		swap("giveBack(old)", "_ = old")),
	m("snow-drift: new options give the fence back", "compat/idgen.door.set", "TestNextIdOverAFence",
		drop("giveBack(old)")),
	m("snow-drift: Close gives the fence back", "compat/idgen.Close", "TestNextIdOverAFence",
		swap("old.close()", "nil")),
	m("snow-drift: a call goes on with the generator that is set", "compat/idgen.door.next",
		"TestNextIdWaitsForTheOptions", always("next == w")),
	m("snow-drift: a call waits for the generator that is being set", "compat/idgen.door.next",
		"TestNextIdWaitsForTheOptions", swap("d.settled", "d.cur.Load")),
	m("snow-drift: the old generator ends before the next opens", "compat/idgen.door.set",
		"TestMethodChangesOnTheClock", swap("old.close()", "old.handle")),
	m("snow-drift: a data center stands above the worker", "compat/idgen.IdGeneratorOptions.node", "TestFieldsOfIDs",
		swap("o.WorkerIdBitLength", "o.DataCenterIdBitLength")),
	m("snow-drift: a worker is in its node", "compat/idgen.IdGeneratorOptions.node",
		"TestFieldsOfIDs",
		inText(` | int64(o.WorkerId)
`, `
`)),
	m("snow-drift: no number is below the first", "compat/idgen.IdGeneratorOptions.layout",
		"TestFieldsOfIDs|TestSlices", swap("int64(o.MinSeqNumber)", "firstSeq")),
	m("snow-drift: no number is above the last", "compat/idgen.IdGeneratorOptions.layout",
		"TestFieldsOfIDs|TestSlices",
		swap("snowfence.Layout{Epoch: time.UnixMilli(o.BaseTime).UTC(), Tick:", `snowfence.Layout{
Epoch: time.UnixMilli(o.BaseTime).UTC(),
Tick:  o.tick(),
First: int64(o.MinSeqNumber),

Fields: append(fields,
snowfence.Field{Name: worker, Bits: int(o.WorkerIdBitLength)},
snowfence.Field{Name: snowfence.FieldSequence, Bits: int(o.SeqBitLength)}),
}`)),
	m("snow-drift: bit lengths of milliseconds leave 41 bits of time", "compat/idgen.IdGeneratorOptions.check",
		"TestBadOptions", swap("maxMilliBits", "maxSecondBits")),
	m("snow-drift: time bits that are used up are refused", "compat/idgen.IdGeneratorOptions.scheme", "TestTimeBits",
		swap("s.MaxTick()", "s.MaxTick()+1")),
	m("snow-drift: a fence has a layout of the options", "compat/idgen.optionsOf", "TestFences",
		always("want.Equal(l)")),
	m("position: the reciprocal of a span is rounded up", "internal/clock.Reciprocal", "TestTicksIsADivision",
		swap("q + 1", "q")),
}
