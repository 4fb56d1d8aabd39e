package mutants

// sqlNodeMutants are the rules of nodes whose IDs functions in a database
// make.
var sqlNodeMutants = []mutant{
	m("a node of functions lies outside the leasable ones", "lease.Namespace.recordSQL",
		"TestNodeIsRecordedForOneDatabase",
		never("node >= ns.Nodes.From && node < ns.Nodes.Until")),
	m("a node of functions belongs to one database", "lease.Namespace.recordSQL", "TestNodeIsRecordedForOneDatabase",
		never("had (3)")),
	m("functions printed again begin above the ones before", "lease.Operator.RecordFunctions",
		"TestNodeIsRecordedForOneDatabase",
		drop("after = max(after,")),
	m("nor by a block that begins below it", "lease.Namespace.ofLeases", "TestLeaseOfANodeOfFunctions",
		swap("first + count (2)", "first + 1")),
	m("a node that is held is given to no functions", "lease.vacant", "TestLeaseOfANodeOfFunctions",
		never("r.Generation >= ns.Since")),
	m("a lease that came in between is evicted, and its ticks counted", "lease.Operator.RecordFunctions",
		"TestFunctionsBeginAboveALease",
		swap("max(after, ns.floorOf(r))", "after")),
	m("no layout leaves out numbers in silence", "lease.Namespace.addLeases", "TestRegionsOfFunctions",
		swap("err != nil || unused", "true")),
	m("the longest lead of functions counts", "lease.Namespace.recordSQL", "TestNodeIsRecordedForOneDatabase",
		swap("max(was.Lead, f.Lead)", "f.Lead")),
	m("IDs of retired functions end after their lead and the skew", "lease.Namespace.retiredSQL",
		"TestNamespaceOfFunctions",
		swap("now.Add(q.Functions.Lead + sqlSkew)", "now")),
	m("a lease after functions begins above their IDs", "lease.raiseRetired", "TestRetiredNodeIsLeasedAboveItsIDs",
		drop("r.Until = max(r.Until, q.Until)")),
}
