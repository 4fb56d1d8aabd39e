package mutants

// changeMutants are the rules of what a namespace has been, and of the nodes that can be
// leased in it: a term each.
var changeMutants = []mutant{
	m("a change is proven against every layout before it", "lease.Namespace.prove", "TestTwoProvenChanges",
		swap("n.Past (2)", "n.Past[:0]")),
	m("and against the present one", "lease.Namespace.present", "TestMemory/refused_change",
		swap("n.Start", "floor")),
	m("a past layout counts up to the highest grant", "lease.Namespace.present", "TestTwoProvenChanges",
		swap("Floor: floor", "Floor: n.Floor")),
	m("a refused change disturbs nobody", "lease.NamespaceChange.apply", "TestMemory/refused_change",
		swap("if _, err", `if err != nil {
return Namespace{}, err
}`)),
	m("its grants may have reached as far as two clocks are off", "lease.NamespaceChange.next",
		"TestChangeInAStoreThatWasReplaced",
		swap("2 * max(ns.LongestTTL, usualReach)", "max(ns.LongestTTL, usualReach)")),
	m("what is granted of a new layout begins with it", "lease.NamespaceChange.next",
		"TestMemory/change_of_layout_during",
		swap("start (10)", "ns.Floor")),
	m("a proof compares the layouts before the last", "Change.Check", "TestTwoSafeChanges",
		swap("c.Past", "c.Past[:0]")),
	m("a proof stops below the end of a layout, not before", "Verdict.compare", "TestChangeShowsTheLowestID",
		swap("until - 1", "until-2")),
	m("a proof begins with the first tick of a layout", "Verdict.compare", "TestChangeShowsTheLowestID",
		swap("from.scheme.layout.tickAtOrAfter(e.From)", "from.scheme.layout.tickAtOrAfter(e.From)+1")),
	m("IDs after a step back have no floor", "Change.Check", "TestIDsAfterAStepBack",
		swap("e.From", "_"),
		swap("time.Time{}", "e.From")),
	m("a proof counts reserved numbers made from the change on", "Change.Check", "TestIDsAfterAStepBack",
		drop("if c.ToReserved { to.lo[sideSeq] = 0 }")),
	m("neighbors make the numbers below their first", "RegionOf", "TestRegionsOfNeighbors",
		swap("Last: s.layout.Last", "First: s.layout.First, Last: s.layout.Last")),
	m("a region goes on to the last tick", "RegionOf", "TestRegionsOfNeighbors",
		swap("s.MaxTick() + 1", "s.MaxTick()")),
	m("a region ends below its last tick", "Region.side", "TestMeetAgainstAllIDs", swap("r.Until - 1", "r.Until-2")),
	m("a region without ticks meets nothing", "Meet", "TestMeetAgainstAllIDs", swap("b.From >= b.Until", "false")),
	m("two secrets are unproven", "Meet", "TestMeetEncrypted", swap("a.Key != b.Key", "false")),
	m("two encrypted layouts without a key are unproven", "Meet", "TestMeetEncrypted", swap("a.Key == \"\"", "false")),
}
