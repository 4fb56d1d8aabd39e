package mutants

// changeMutants are the rules of what a namespace has been, and of the nodes that can be
// leased in it: a term each.
var changeMutants = []mutant{
	m("matrix: leases of one layout and of the next", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != OwnerLeases || r.Owner != OwnerLeases)")),
	m("matrix: functions and the leases of another layout", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != ownerFunctions || r.Owner != OwnerLeases)")),
	m("matrix: functions and backfills of another layout", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != ownerFunctions || r.Owner != ownerBackfill)")),
	m("matrix: leases and backfills of another layout", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != OwnerLeases || r.Owner != ownerBackfill)")),
	m("matrix: backfills and the leases of another layout", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != ownerBackfill || r.Owner != OwnerLeases)")),
	m("matrix: others and the leases of another layout", "lease.Namespace.add", "TestMatrixOfFeatures",
		swap("x != nil", "x != nil && (q.Owner != ownerOthers || r.Owner != OwnerLeases)")),
	m("a refused change disturbs no program", "lease.change.apply", "TestChangeKeepsNumbersGivenByHand",
		swap("if _, err := c.next(", `if err != nil {
return Namespace{}, err
}`)),
	m("what is granted of a new layout begins with it", "lease.change.next",
		"TestMemory/change_of_layout_during",
		swap("start (4)", "ns.Floor")),
	m("neighbors make the numbers below their first", "RegionOf", "TestRegionsOfNeighbors",
		swap("Last: s.layout.Last", "First: s.layout.First, Last: s.layout.Last")),
}
