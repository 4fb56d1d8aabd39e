package mutants

// changeMutants are the rules of what a namespace has been, and of the nodes that can be
// leased in it: a term each.
var changeMutants = []mutant{
	{
		rule: "a change is proven against every layout before it", file: "lease/change_proof.go",
		old: `n.present(floor)}, n.Past...)`, now: `n.present(floor)}, n.Past[:0]...)`, test: "TestTwoProvenChanges",
	},
	{
		rule: "and against the present one", file: "lease/change_proof.go",
		old: `Start: n.Start, Floor: floor}`, now: `Start: floor, Floor: floor}`, test: "TestMemory/refused_change",
	},
	{
		rule: "a past layout counts up to the highest grant", file: "lease/change_proof.go",
		old: `Start: n.Start, Floor: floor}`, now: `Start: n.Start, Floor: n.Floor}`, test: "TestTwoProvenChanges",
	},
	{
		rule: "layouts are joined only where their ticks touch", file: "lease/change_proof.go",
		old: `p.Start <= q.Floor && q.Start`, now: `q.Start`, test: "TestTwoProvenChanges",
	},
	{
		rule: "a joined layout begins where the first one did", file: "lease/change_proof.go",
		old: `min(p.Start, q.Start)`, now: `p.Start`, test: "TestPastOfOneLayoutIsJoined",
	},
	{
		rule: "only a layout without a tick is left out", file: "lease/change_proof.go",
		old: `if p.Floor <= p.Start {`, now: `if p.Floor > p.Start {`, test: "TestTwoProvenChanges",
	},
	{
		rule: "64 layouts are remembered", file: "lease/change_proof.go",
		old: `len(past) > maxPast ||`, now: ``, test: "TestPastKeepsWhatWasMade",
	},
	{
		rule: "and no more of them than a record keeps", file: "lease/change_proof.go",
		old: `|| size > maxPastBytes`, now: ``, test: "TestPastOfLongLayouts",
	},
	{
		rule: "where the past is not known nothing is proven", file: "lease/change_proof.go",
		old: `n.Past == nil && n.Since > 1`, now: `false`, test: "TestRecordOfAnEarlierVersion",
	},
	{
		rule: "a past that is not known stays so", file: "lease/change_proof.go",
		old: `ns.Past != nil || ns.Since == 1`, now: `true`, test: "TestRecordOfAnEarlierVersion",
	},
	{
		rule: "a refused change disturbs nobody", file: "lease/change.go",
		old: `if _, err := c.next(ctx, st, ns, now); err != nil {`, now: `if err != nil {`, test: "TestMemory/refused_change",
	},
	{
		rule: "what is so already is no change", file: "lease/change.go",
		old: `c.Scheme == nil || c.Scheme.Fingerprint() == ns.Fingerprint`, now: `c.Scheme == nil`, test: "TestChangeToWhatIsSoAlready",
	},
	{
		rule: "a store that lost grants is noticed by a change", file: "lease/change_proof.go",
		old: `if id != ns.Identity {`, now: `if false {`, test: "TestChangeInAStoreThatWasReplaced",
	},
	{
		rule: "its grants may have reached as far as two clocks are off", file: "lease/change_proof.go",
		old: `now.Add(2*max(`, now: `now.Add(max(`, test: "TestChangeInAStoreThatWasReplaced",
	},
	{
		rule: "by the longest ttl", file: "lease/change_proof.go",
		old: `max(ns.LongestTTL, usualReach)`, now: `usualReach`, test: "TestChangeInAStoreThatWasReplaced",
	},
	{
		rule: "or the usual one", file: "lease/change_proof.go",
		old: `max(ns.LongestTTL, usualReach)`, now: `ns.LongestTTL`, test: "TestChangeInAStoreThatWasReplaced",
	},
	{
		rule: "numbers given by hand count up to now", file: "lease/change_proof.go",
		old: `if reserves(ns, old) {`, now: `if false {`, test: "TestChangeCountsLeases",
	},
	{
		rule: "low numbers, too", file: "lease/change.go",
		old: `return ns.First > 0 || `, now: `return `, test: "TestChangeCountsLeases",
	},
	{
		rule: "high numbers, too", file: "lease/change.go",
		old: `ns.First > 0 || ns.Last < nodeCount(l)-1`, now: `ns.First > 0`, test: "TestChangeCountsLeases",
	},
	{
		rule: "leases count beside numbers given by hand", file: "lease/change_proof.go",
		old: `floor = max(floor, unused)`, now: `floor = unused`, test: "TestChangeCountsLeases",
	},
	{
		rule: "what is granted of a new layout begins with it", file: "lease/change_proof.go",
		old: `= start, start, ns.Generation+1`, now: `= start, ns.Floor, ns.Generation+1`, test: "TestMemory/change_of_layout_during",
	},
	{
		rule: "more nodes begin after the last ID made by hand", file: "lease/change.go",
		old: `l.TickOf(unused) + 1`, now: `l.TickOf(unused)`, test: "TestWidenRefused",
	},
	{
		rule: "more nodes never lower the floor", file: "lease/change.go",
		old: `next.Floor = max(ns.Floor, unused)`, now: `next.Floor = unused`, test: "TestWidenKeepsAHigherFloor",
	},
	{
		rule: "low nodes are more nodes", file: "lease/change.go",
		old: `if next.First < ns.First || next.Last > ns.Last {`, now: `if next.Last > ns.Last {`, test: "TestWidenRefused",
	},
	{
		rule: "high nodes are more nodes", file: "lease/change.go",
		old: `if next.First < ns.First || next.Last > ns.Last {`, now: `if next.First < ns.First {`, test: "TestDeletedAndMadeAgain",
	},
	{
		rule: "to widen is asked for in words", file: "lease/change.go",
		old: `if !c.Widen && !all`, now: `if false && !all`, test: "TestChangeKeepsNumbersGivenByHand",
	},
	{
		rule: "low nodes are asked for in words", file: "lease/change.go",
		old: `(first < ns.First || last > ns.Last)`, now: `last > ns.Last`, test: "TestWidenKeepsAHigherFloor",
	},
	{
		rule: "high nodes are asked for in words", file: "lease/change.go",
		old: `(first < ns.First || last > ns.Last)`, now: `first < ns.First`, test: "TestWidenKeepsAHigherFloor",
	},
	{
		rule: "fewer low nodes end leases", file: "lease/change.go",
		old: `next.First > ns.First || next.Last < ns.Last`, now: `next.Last < ns.Last`, test: "TestFewerNodesEndLeases",
	},
	{
		rule: "fewer high nodes end leases", file: "lease/change.go",
		old: `next.First > ns.First || next.Last < ns.Last`, now: `next.First > ns.First`, test: "TestFewerNodesEndLeases",
	},
	{
		rule: "a proof compares the layouts before the last", file: "layout_change.go", pkg: ".",
		old: `c.FromReserved}}, c.Past...)`, now: `c.FromReserved}}, c.Past[:0]...)`, test: "TestTwoSafeChanges",
	},
	{
		rule: "a proof stops below the end of a layout, not before", file: "layout_change.go", pkg: ".",
		old: `min(until-1, from`, now: `min(until-2, from`, test: "TestChangeShowsTheLowestID",
	},
	{
		rule: "a proof begins with the first tick of a layout", file: "layout_change.go", pkg: ".",
		old: `tickAtOrAfter(e.From), 0)`, now: `tickAtOrAfter(e.From)+1, 0)`, test: "TestChangeShowsTheLowestID",
	},
	{
		rule: "a proof shows the lowest ID of all layouts", file: "layout_change.go", pkg: ".",
		old: `uint64(v.Collision.ID) <= uint64(x.ID) {`, now: `uint64(v.Collision.ID) > uint64(x.ID) {`, test: "TestChangeShowsTheLowestID",
	},
	{
		rule: "a proof counts reserved numbers where they were made", file: "layout_change.go", pkg: ".",
		old: `e.Reserved && first > 0 {`, now: `false {`, test: "TestIDsAfterAStepBack",
	},
	{
		rule: "a proof counts them only there", file: "layout_change.go", pkg: ".",
		old: `e.Reserved && first > 0 {`, now: `first > 0 {`, test: "TestIDsAfterAStepBack",
	},
	{
		rule: "IDs after a step back have no floor", file: "layout_change.go", pkg: ".",
		old: `			e.From = time.Time{} //`, now: `			_ = e.From //`, test: "TestIDsAfterAStepBack",
	},
	{
		rule: "and the others have one", file: "layout_change.go", pkg: ".",
		old: `from.setNumbers(0, first-1)`, now: `from.setNumbers(0, first)`, test: "TestIDsAfterAStepBack",
	},
	{
		rule: "a proof counts reserved numbers made from the change on", file: "layout_change.go", pkg: ".",
		old: `	if c.ToReserved {
		to.lo[sideSeq] = 0
	}
`, now: ``, test: "TestIDsAfterAStepBack",
	},
	{
		rule: "neighbors make the numbers below their first", file: "layout_beside.go", pkg: ".",
		old: `		d.lo[sideSeq] = 0
`, now: ``, test: "TestBeside",
	},
	{
		rule: "neighbors meet in any two years", file: "layout_beside.go", pkg: ".",
		old: `if !b.Until.IsZero() {`, now: `if b.Until.IsZero() {`, test: "TestBeside",
	},
	{
		rule: "a bound is the first tick that neighbors do not stamp", file: "layout_beside.go", pkg: ".",
		old: `tickAtOrAfter(b.Until)-1)`, now: `tickAtOrAfter(b.Until)-2)`, test: "TestBeside",
	},
}
