package mutants

// driftMutants break the rules of compat/idgen, and of numbers that begin above 0, one term each.
var driftMutants = []mutant{
	{
		rule: "snow-drift: other numbers of a worker replace its generator", file: "compat/idgen/generator.go",
		pkg: "./compat/idgen", test: "TestOtherNumbersOfAWorker|TestSetIdGeneratorAgain",
		old: `Replace: true, `, now: ``,
	},
	{
		rule: "snow-drift: another fence gives the one before back", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestNextIdOverAFence",
		old: `	giveBack(old)
	return nil
}

// Close ends`, now: `	_ = old
	return nil
}

// Close ends`,
	},
	{
		rule: "snow-drift: new options give the fence back", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestNextIdOverAFence",
		old: `	giveBack(old)
	return nil
}

// next`, now: `	return nil
}

// next`,
	},
	{
		rule: "snow-drift: Close gives the fence back", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestNextIdOverAFence",
		old: `	return old.close()
`, now: `	return nil
`,
	},
	{
		rule: "snow-drift: a call goes on with the generator that is set", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestNextIdWaitsForTheOptions|TestSetIdGeneratorWhile",
		old: `		if next == w {`, now: `		if true {`,
	},
	{
		rule: "snow-drift: a call waits for the generator that is being set", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestNextIdWaitsForTheOptions",
		old: `		next := d.settled()`, now: `		next := d.cur.Load()`,
	},
	{
		rule: "snow-drift: the old generator ends before the next opens", file: "compat/idgen/default.go",
		pkg: "./compat/idgen", test: "TestMethodChanges",
		old: `		_ = old.close() // only`, now: `		_ = old.handle // only`,
	},
	{
		rule: "snow-drift: a worker stays below its data center", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestBadOptions",
		old: `uint64(o.WorkerId)>>o.WorkerIdBitLength != 0`, now: `false`,
	},
	{
		rule: "snow-drift: a data center stays below the time", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestBadOptions",
		old: `uint64(o.DataCenterId)>>o.DataCenterIdBitLength != 0`, now: `false`,
	},
	{
		rule: "snow-drift: a data center stands above the worker", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestFieldsOfIDs|TestDataCenters",
		old: `int64(o.DataCenterId)<<o.WorkerIdBitLength`, now: `int64(o.DataCenterId)<<o.DataCenterIdBitLength`,
	},
	{
		rule: "snow-drift: a worker is in its node", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestFieldsOfIDs|TestWorkersAreNotCut",
		old: ` | int64(o.WorkerId)
`, now: `
`,
	},
	{
		rule: "snow-drift: reserved numbers are refused", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestBadOptions",
		old: `o.MinSeqNumber < firstSeq || `, now: ``,
	},
	{
		rule: "snow-drift: no number is below the first", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestFieldsOfIDs|TestSlices",
		old: `		First: int64(o.MinSeqNumber),`, now: `		First: firstSeq,`,
	},
	{
		rule: "snow-drift: no number is above the last", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestFieldsOfIDs|TestSlices",
		old: `		Last:  int64(o.last()),`, now: ``,
	},
	{
		rule: "snow-drift: a last number fits its bits", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestBadOptions",
		old: `case o.MaxSeqNumber>>o.SeqBitLength != 0:`, now: `case false:`,
	},
	{
		rule: "snow-drift: bit lengths of milliseconds leave 41 bits of time", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestBadOptions",
		old: `	most := maxMilliBits`, now: `	most := maxSecondBits`,
	},
	{
		rule: "snow-drift: time bits that are used up are refused", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestTimeBits",
		old: `tick > s.MaxTick()`, now: `tick > s.MaxTick()+1`,
	},
	{
		rule: "snow-drift: a fence has a layout of the options", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestFences",
		old: `		if want.Equal(l) {`, now: `		if true {`,
	},
	{
		rule: "snow-drift: IDs of seconds do not run ahead", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestLead",
		old: `o.Method == 2 || o.TimestampType == 1`, now: `o.Method == 2`,
	},
	{
		rule: "snow-drift: IDs of Method 2 do not run ahead", file: "compat/idgen/options.go",
		pkg: "./compat/idgen", test: "TestLead|TestDriftEnds",
		old: `o.Method == 2 || o.TimestampType == 1`, now: `o.TimestampType == 1`,
	},
	{
		rule: "position: the reciprocal of a span is rounded up", file: "clock.go",
		pkg: ".", test: "TestReciprocal",
		old: `	return q + 1, uint8(n)`, now: `	return q, uint8(n)`,
	},
	{
		rule: "position: what is left of a position is its slot", file: "position.go",
		pkg: ".", test: "TestLinearIDs|TestReciprocal",
		old: `(pos-tick*t.span)<<t.seqShift`, now: `(pos-tick)<<t.seqShift`,
	},
}
