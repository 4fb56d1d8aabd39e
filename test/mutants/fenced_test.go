package mutants

// fencedMutants break the rules by which the registry of a process knows the grants of fences, one
// term each.
var fencedMutants = []mutant{
	{
		rule: "fences: a bare number over a grant is refused",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `if sp.fencedOver([]rectangle{rect}, false) {`, now: `if false {`,
		test: "TestBareNumberBesideAFence",
	},
	{
		rule: "fences: also over one that ends",
		file: "compat/internal/process/registry.go", pkg: "./compat/internal/process",
		old: `sp.fencedOver([]rectangle{rect}, false)`, now: `sp.fencedOver([]rectangle{rect}, true)`,
		test: "TestBareNumberBesideAFence",
	},
	{
		rule: "fences: a grant over a bare number in use is refused",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `		if o.users > 0 {`, now: `		if false {`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: one user is enough to be in use",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `		if o.users > 0 {`, now: `		if o.users > 1 {`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: one that nobody uses is let go",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `		r.letGo(o)
`,
		now: `		_ = o
`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: a grant begins above the floor",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `max(gr.From, sp.floor, floor)`, now: `max(gr.From, floor)`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: a grant keeps its own begin",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `max(gr.From, sp.floor, floor)`, now: `max(sp.floor, floor)`,
		test: "TestGrantBeginsWhereItWasGranted",
	},
	{
		rule: "fences: a grant below the floor is of no use",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if from >= gr.Until {`, now: `if false {`,
		test: "TestGrantBelowTheFloor",
	},
	{
		rule: "fences: the fence is asked for more than the floor",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `return max(after, sp.floor)`, now: `return after`,
		test: "TestFenceIsAskedForTicksAbove",
	},
	{
		rule: "fences: and for what the generator asks",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `return max(after, sp.floor)`, now: `return sp.floor`,
		test: "TestFenceIsAskedForTicksAbove",
	},
	{
		rule: "fences: a renewal is no new grant",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `sp != nil && f.space == nil {`, now: `sp != nil {`,
		test: "TestRenewalAfterOthersRaisedTheFloor",
	},
	{
		rule: "fences: what was used raises the floor",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `f.space.floor = max(f.space.floor, used)`, now: `_ = used`,
		test: "TestBareNumberBesideAFence",
	},
	{
		rule: "fences: and lowers none",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `f.space.floor = max(f.space.floor, used)`, now: `f.space.floor = used`,
		test: "TestFenceLowersNoFloor",
	},
	{
		rule: "fences: what was not used raises none",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if used > f.from {`, now: `if true {`,
		test: "TestUnusedGrantRaisesNoFloor",
	},
	{
		rule: "fences: a fence that lost its grant leaves the space",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `b.Bind(f.lose)`, now: `b.Bind(seal)`,
		test: "TestBareNumberBesideAFence",
	},
	{
		rule: "fences: so does one that is given back",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `	f.leave()
	for _, g`,
		now:  `	for _, g`,
		test: "TestNumberIsFreeBeforeItsFenceIs",
	},
	{
		rule: "fences: and a first grant that was not used",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `		f.leave() // a first`, now: `		// a first`,
		test: "TestFirstGrantTakenBack",
	},
	{
		rule: "fences: and one that does not answer",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `	f.leave()
	return err`,
		now:  `	return err`,
		test: "TestCloseOverAFenceThatDoesNotAnswer",
	},
	{
		rule: "fences: what it answers later enters nothing",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if f.closed {`, now: `if false {`,
		test: "TestCloseOverAFenceThatDoesNotAnswer",
	},
	{
		rule: "fences: the seal comes before the numbers are free",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `	used := f.seal()
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	if f.space != nil {
`,
		now: `	f.registry.mu.Lock()
	sp := f.space
	if sp != nil {
		delete(sp.fenced, f)
	}
	f.registry.mu.Unlock()
	used := f.seal()
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	if f.space != nil {
`,
		test: "TestSealComesBefore",
	},
	{
		rule: "fences: a grant in place of another ends that one",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `sealed := !renews && f.leave()`, now: `sealed := false`,
		test: "TestGrantInPlaceOfAnother",
	},
	{
		rule: "fences: a grant in place of another is entered",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if !renews || f.space == nil {`, now: `if f.space == nil && renews {`,
		test: "TestGrantInPlaceOfAnother",
	},
	{
		rule: "fences: so is the same one after it was lost",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if !renews || f.space == nil {`, now: `if !renews {`,
		test: "TestSameGrantAfterALoss",
	},
	{
		rule: "fences: what is entered and not in use is asked for once",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `		f.ready = &gr
`, now: `		_ = gr
`,
		test: "TestFenceThatAlwaysGrantsAnother",
	},
	{
		rule: "fences: it is not used after a loss",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `f.space, f.ready = nil, nil`, now: `f.space = nil`,
		test: "TestLossBetweenSealAndUse",
	},
	{
		rule: "fences: nor when it does not reach far enough",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if f.ready == nil || f.ready.Until <= after {`, now: `if f.ready == nil {`,
		test: "TestLossBetweenSealAndUse",
	},
	{
		rule: "fences: a renewal begins where the grant did",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `	gr.From = f.from
	if sealed`,
		now:  `	if sealed`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: a grant goes back as it came",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `			gr.From = g.From
`, now: `			_ = g.From
`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: two bare numbers are one",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if sp.fencedOver(rects, !bare) {`, now: `if false {`,
		test: "TestTwoFencesOfOneNumber",
	},
	{
		rule: "fences: a bare number is none beside a lease",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if sp.fencedOver(rects, !bare) {`, now: `if sp.fencedOver(rects, true) {`,
		test: "TestTwoFencesOfOneNumber",
	},
	{
		rule: "fences: two leases are apart",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if sp.fencedOver(rects, !bare) {`, now: `if sp.fencedOver(rects, false) {`,
		test: "TestTwoFencesOfOneNumber",
	},
	{
		rule: "fences: a number without an end is bare",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `bare := gr.Until > s.MaxTick()`, now: `bare := gr.Until > s.MaxTick()+1`,
		test: "TestTwoFencesOfOneNumber",
	},
	{
		rule: "fences: it is noted",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `= sp, rects, from, bare, left`, now: `= sp, rects, from, false, left`,
		test: "TestTwoFencesOfOneNumber",
	},
	{
		rule: "fences: all nodes of a block count",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `range max(gr.Nodes, 1) {`, now: `range int64(1) {`,
		test: "TestNumbersOfAGrant",
	},
	{
		rule: "fences: a grant has the numbers of its slice",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `placeSlice(s, gr.Node+i, gr.FirstSeq, gr.LastSeq)`, now: `placeSlice(s, gr.Node+i, 0, 0)`,
		test: "TestNumbersOfAGrant",
	},
	{
		rule: "fences: the whole sequence is that of the layout",
		file: "compat/internal/process/rectangle.go", pkg: "./compat/internal/process",
		old: `if first == 0 && last == 0 {`, now: `if false {`,
		test: "TestBareNumberBesideAFence|TestPlace",
	},
	{
		rule: "fences: a bare number of the same numbers is found",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if e := group[r.base]; e != nil {`, now: `if e := group[r.base]; false {`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: and one of another layout",
		file: "compat/internal/process/fenced.go", pkg: "./compat/internal/process",
		old: `if slices.ContainsFunc(rects, e.overlaps) {`, now: `if false {`,
		test: "TestFenceBesideABareNumber",
	},
	{
		rule: "fences: NextId goes on after an error",
		file: "compat/idgen/default.go", pkg: "./compat/idgen",
		old: `} else if old != nil && !old.fenced {`, now: `} else if false {`,
		test: "TestWorkerOfAFenceIsNoBareWorker",
	},
}
