package mutants

// compatMutants break the rules of the registry that all layers of a process share, and of the
// layers, one term each.
var compatMutants = []mutant{
	{
		rule: "layers: equal rectangles share one generator",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `if same != nil && (same.users > 0 || same.fits(o)) {`,
		now:  `if false {`,
		test: "TestEqualRectangles",
	},
	{
		rule: "layers: also with other options, if it is in use",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `(same.users > 0 || same.fits(o))`,
		now:  `same.fits(o)`,
		test: "TestEqualRectangles",
	},
	{
		rule: "layers: a spare one that does not fit is let go",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `		others = append(others, same)
`,
		now:  ``,
		test: "TestSpareGenerator",
	},
	{
		rule: "layers: one in use is not replaced unasked",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `if o := others[i]; !e.opts.Replace {`,
		now:  `if o := others[i]; o == nil {`,
		test: "TestOverlapIsRefused",
	},
	{
		rule: "layers: one user is enough to be in use",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `func(o *entry) bool { return o.users > 0 }`,
		now:  `func(o *entry) bool { return o.users > 1 }`,
		test: "TestOverlapIsRefused",
	},
	{
		rule: "layers: what is in the way is sealed",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `		r.letGo(old)
`,
		now: `		_ = old
`,
		test: "TestOverlapIsRefused|TestSpareGenerator",
	},
	{
		rule: "layers: what cannot take its place seals nothing",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `if err := try.start(0); err != nil {`,
		now:  `if err := try.start(0); false {`,
		test: "TestReplaceThatFails",
	},
	{
		rule: "layers: a new one begins above the floor",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `max(sp.floor, o.First)`,
		now:  `o.First`,
		test: "TestFloorIsAbove|TestOverlapIsRefused",
	},
	{
		rule: "layers: the floor is above what was used",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `sp.floor = max(sp.floor, e.fence.seal())`,
		now:  `e.fence.seal()`,
		test: "TestFloorIsAbove|TestOverlapIsRefused",
	},
	{
		rule: "layers: the floor is never lowered",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `max(sp.floor, e.fence.seal())`,
		now:  `e.fence.seal()`,
		test: "TestFloorIsAboveAll",
	},
	{
		rule: "layers: a generator let go is closed",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `_ = e.gen.Close() //`,
		now:  `//`,
		test: "TestOverlapIsRefused|TestReplace",
	},
	{
		rule: "layers: a generator let go is closed before the floor is read",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `	_ = e.gen.Close() // its fence fails no Release; sealed it is anyhow
	e.closed = true
	sp := e.space
	sp.floor = max(sp.floor, e.fence.seal())
`,
		now: `	e.closed = true
	sp := e.space
	sp.floor = max(sp.floor, e.fence.seal())
	_ = e.gen.Close()
`,
		test: "TestNothingIsMadeAbove",
	},
	{
		rule: "layers: a generator let go is nobody's spare",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `	e.closed = true
`,
		now:  ``,
		test: "TestOverlapIsRefused",
	},
	{
		rule: "layers: the last user counts",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `e.users--; e.users > 0 ||`,
		now:  `e.users--; e.users > 1 ||`,
		test: "TestCloseCountsOnce",
	},
	{
		rule: "layers: spare generators are few",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `len(r.unused) > spare`,
		now:  `false`,
		test: "TestSpareGeneratorsAreFew",
	},
	{
		rule: "layers: one in use again is not spare",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `if e.users++; e.users == 1 {`,
		now:  `if e.users++; false {`,
		test: "TestSpareGeneratorGoesOn",
	},
	{
		rule: "layers: another end of life is another rectangle",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `e.rectangle == o.rectangle && e.scheme.MaxTick() == o.scheme.MaxTick()`,
		now:  `e.rectangle == o.rectangle`,
		test: "TestOtherTimeBits",
	},
	{
		rule: "layers: rectangles of other shapes are compared",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `case o.overlaps(e.rectangle):`,
		now:  `case false:`,
		test: "TestOverlapIsRefused",
	},
	{
		rule: "layers: and found to be equal",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `			case o.equal(e):`,
		now:  `			case false:`,
		test: "TestEqualRectangles",
	},
	{
		rule: "layers: a spare one has the lead that is asked for",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `e.opts.Lead == o.Lead && `,
		now:  ``,
		test: "TestSpareGeneratorGoesOn",
	},
	{
		rule: "layers: a spare one has no clock of its own",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  `e.opts.Time == nil && `,
		now:  ``,
		test: "TestSpareGeneratorWithAClock",
	},
	{
		rule: "layers: nor is it given one",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old:  ` && o.Time == nil`,
		now:  ``,
		test: "TestSpareGeneratorWithAClock",
	},
	{
		rule: "layers: a space has one epoch",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `epoch: l.Epoch.UnixNano(), `,
		now:  ``,
		test: "TestSpaces",
	},
	{
		rule: "layers: a space has one tick",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `tick: int64(l.Tick), `,
		now:  ``,
		test: "TestSpaces",
	},
	{
		rule: "layers: a space has one number of low bits",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old: `	return k, f, r, nil`,
		now: `	k.below = 0
	return k, f, r, nil`,
		test: "TestSpaces",
	},
	{
		rule: "layers: a space has one secret",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old: `			k.sample[i] = id
`,
		now: `			_ = id
`,
		test: "TestSpaces",
	},
	{
		rule: "layers: an encrypted space is apart from a plain one",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old: `for i := range k.sample {
`,
		now: `for i := range k.sample[:0] {
`,
		test: "TestSpaces",
	},
	{
		rule: "layers: rectangles out of step have nothing in common",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `if (r.base^q.base)&(1<<r.shift-1) != 0 {`,
		now:  `if false {`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: the shorter steps are below",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `if r.shift > q.shift {`,
		now:  `if false {`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: the upper end counts",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `q.base > r.top ||`,
		now:  `q.base >= r.top ||`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: the lower end counts",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `|| q.top < r.base`,
		now:  `|| q.top <= r.base`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: the first number in both is found",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `if at < r.base {`,
		now:  `if false {`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: it is looked for up to both ends",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `return at <= min(r.top, q.top)`,
		now:  `return at < min(r.top, q.top)`,
		test: "TestOverlapIsExact",
	},
	{
		rule: "layers: a rectangle has the lowest number",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `base: at | f.first<<f.seqShift,`,
		now:  `base: at,`,
		test: "TestPlace",
	},
	{
		rule: "layers: a rectangle has the highest number",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `top: at | f.last<<f.seqShift}`,
		now:  `top: at | f.first<<f.seqShift}`,
		test: "TestPlace",
	},
	{
		rule: "layers: each part of the node has its place",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old: `			node >>= width
`,
		now:  ``,
		test: "TestPlace",
	},
	{
		rule: "layers: a node is in the layout",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old:  `node < 0 || node >= s.Nodes()`,
		now:  `node < 0`,
		test: "TestPlaceRefuses",
	},
	{
		rule: "layers: a grant begins at the floor",
		file: "compat/internal/process/fence.go", pkg: "./compat/internal/process",
		old:  `From: f.from,`,
		now:  `From: 0,`,
		test: "TestFloorIsAbove|TestOverlapIsRefused",
	},
	{
		rule: "layers: a space that is used up has no grant",
		file: "compat/internal/process/fence.go", pkg: "./compat/internal/process",
		old:  `|| f.from > end`,
		now:  ``,
		test: "TestEndOfLife",
	},
	{
		rule: "layers: a handle lives through its last call",
		file: "compat/internal/process/handle.go", pkg: "./compat/internal/process",
		old: `	// Next and Must need h afterwards.
	runtime.KeepAlive(h)
`,
		now:  ``,
		test: "TestCollectorDuring",
	},
	{
		rule: "layers: a handle is counted off once",
		file: "compat/internal/process/handle.go", pkg: "./compat/internal/process",
		old: `	g := h.gen.Swap(nil)
	if g == nil {`,
		now: `	g := h.gen.Swap(nil)
	if false {`,
		test: "TestCloseCountsOnce",
	},
	{
		rule: "layers: the collector does not count a closed handle",
		file: "compat/internal/process/handle.go", pkg: "./compat/internal/process",
		old: `		lost.Stop()
`,
		now: `		_ = lost
`,
		test: "TestCloseCountsOnce",
	},
	{
		rule: "layers: Must returns no 0",
		file: "compat/internal/process/handle.go", pkg: "./compat/internal/process",
		old:  `err == nil && id != 0 {`,
		now:  `err == nil {`,
		test: "TestMustNever",
	},
	{
		rule: "layers: MustFill writes no 0",
		file: "compat/internal/process/handle.go", pkg: "./compat/internal/process",
		old:  `len(dst) > 0 && dst[0] == 0`,
		now:  `false`,
		test: "TestMustNever",
	},
	{
		rule: "layers: a fence that refuses is asked now and then",
		file: "compat/internal/process/waits.go", pkg: "./compat/internal/process",
		old:  `if wait.Waited < pause {`,
		now:  `if false {`,
		test: "TestFenceThatRefuses",
	},
	{
		rule: "layers: nobody waits for a fence that is closed",
		file: "compat/internal/process/waits.go", pkg: "./compat/internal/process",
		old:  `!errors.As(err, &wait) || final(err) ||`,
		now:  `!errors.As(err, &wait) ||`,
		test: "TestFinalErrors",
	},
	{
		rule: "layers: a fence has the epoch of the variables",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Epoch.Equal(want.Epoch) && `,
		now:  ``,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence has ticks of a millisecond",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Tick == want.Tick && `,
		now:  ``,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence makes plain IDs",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Cipher == snowfence.Plain &&`,
		now:  `true &&`,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence has the node bits of the variables",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Bits(snowfence.FieldNode) == int(s.nodeBits) && `,
		now:  ``,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence has the step bits of the variables",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Bits(snowfence.FieldSequence) == int(s.stepBits) &&`,
		now:  `true &&`,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence has no rollback bits",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `got.Bits(snowfence.FieldRollback) == 0 && `,
		now:  ``,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: a fence makes no negative IDs",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  ` && got.Width() < 64`,
		now:  ``,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: no node part is below the step",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `s.stepBits > 0 && last.Name != snowfence.FieldSequence`,
		now:  `false && last.Name == ""`,
		test: "TestNodeOnRefuses",
	},
	{
		rule: "layers: the latest settings are those of NewNode",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old: `	latest.Store(s)
	if node < 0`,
		now:  `	if node < 0`,
		test: "TestFieldsAre",
	},
	{
		rule: "layers: settings are those of now: the epoch",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `s.epoch == Epoch && `,
		now:  ``,
		test: "TestVariables",
	},
	{
		rule: "layers: settings are those of now: the node bits",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  `s.nodeBits == NodeBits && `,
		now:  ``,
		test: "TestVariables",
	},
	{
		rule: "layers: settings are those of now: the step bits",
		file: "compat/snowflake/node.go", pkg: "./compat/snowflake",
		old:  ` && s.stepBits == StepBits {`,
		now:  ` {`,
		test: "TestVariables",
	},
}
