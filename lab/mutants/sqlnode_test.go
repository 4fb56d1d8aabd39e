package mutants

// sqlNodeMutants are the rules of nodes whose IDs functions in a database
// make.
var sqlNodeMutants = []mutant{
	m("a node of functions lies outside the leasable ones", "lease/scope.Namespace.recordSQL",
		"TestNodeIsRecordedForOneDatabase", never("node >= ns.Nodes.From && node < ns.Nodes.Until")),
	m("a node of functions belongs to one database", "lease/scope.Namespace.recordSQL",
		"TestNodeIsRecordedForOneDatabase", never("had (3)")),
	m("functions come again in their schema only", "lease/scope.Namespace.recordSQL",
		"TestNodeIsRecordedForOneDatabase", never("old.Functions.Schema != f.Schema")),
	m("functions printed again begin above the ones before", "lease/scope.Operator.RecordFunctions",
		"TestNodeIsRecordedForOneDatabase", drop("after = max(after,")),
	m("nor by a block that begins below it", "lease/scope.Namespace.OfLeases", "TestLeaseOfANodeOfFunctions",
		swap("first + count (2)", "first + 1")),
	m("a node that is held is given to no functions", "lease/scope.vacant", "TestLeaseOfANodeOfFunctions",
		never("r.Generation >= ns.Since")),
	m("a lease that came in between is evicted, and its ticks counted", "lease/scope.Operator.RecordFunctions",
		"TestFunctionsBeginAboveALease", swap("max(after, ns.FloorOf(r))", "max(after, 0*ns.FloorOf(r))")),
	m("no layout leaves out numbers in silence", "lease/scope.Namespace.addLeases", "TestRegionsOfFunctions",
		swap("err != nil || unused", "true")),
	m("the longest lead of functions counts", "lease/scope.Namespace.recordSQL", "TestNodeIsRecordedForOneDatabase",
		swap("max(was.Lead, f.Lead)", "f.Lead")),
	m("IDs of retired functions end after their lead and the skew", "lease/scope.Namespace.retiredSQL",
		"TestNamespaceOfFunctions", swap("now.Add(q.Functions.Lead + sqlSkew)", "now")),
	m("a lease after functions begins above their IDs", "lease/scope.raiseRetired",
		"TestRetiredNodeIsLeasedAboveItsIDs", drop("r.Until = max(r.Until, q.Until)")),
}

// changeMutants are the rules of what a namespace has been, and of the
// nodes that can be leased in it: a term each.
var changeMutants = []mutant{
	m("unit: a record of the old unit says nothing of the new one", "lease/scope.change.reunit", "^TestScripts$",
		drop("ns.Since =")).in("./lease/internal/claim"),
}
