package mutants

// sqlNodeMutants are the rules of nodes whose IDs functions in a database make.
var sqlNodeMutants = []mutant{
	{
		rule: "a node of functions lies outside the leasable ones", file: "lease/sqlnode.go",
		old: `if n.Node >= ns.First && n.Node <= ns.Last {`, now: `if false {`, test: "TestNodeIsRecordedForOneDatabase",
	},
	{
		rule: "a node of functions belongs to one database", file: "lease/sqlnode.go",
		old: `case old != nil && !again:`, now: `case false:`, test: "TestNodeIsRecordedForOneDatabase",
	},
	{
		rule: "functions printed again begin above the ones before", file: "lease/sqlnode.go",
		old: `after = max(after, l.TickOf(now.Add(recorded.Lead+sqlSkew))+1)`, now: ``,
		test: "TestNodeIsRecordedForOneDatabase",
	},
	{
		rule: "nobody leases a node of functions by its number", file: "lease/acquire.go",
		old: `if err := ns.keptForSQL(`, now: `if err := (Namespace{}).keptForSQL(`, test: "TestNamespaceOfFunctions",
	},
	{
		rule: "nor takes or keeps it after a crash", file: "lease/renew.go",
		old: `if err := ns.keptForSQL(`, now: `if err := (Namespace{}).keptForSQL(`,
		test: "TestRecordedNodeIsNotLeasedAfterACrash",
	},
	{
		rule: "nor by a block that begins below it", file: "lease/sqlnode.go",
		old: `Until: first + count}`, now: `Until: first + 1}`, test: "TestLeaseOfANodeOfFunctions",
	},
	{
		rule: "a server lets nobody take it", file: "lease/holders_judge.go",
		old: `p.ns.keptForSQL(p.layout, n.Node, 1) != nil:`, now: `false:`, test: "TestNamespaceOfFunctions",
	},
	{
		rule: "a node that is held is given to no functions", file: "lease/sqlnode.go",
		old:  `r.Held(l.TickOf(now)) && r.Generation >= ns.Since {`,
		now:  `r.Held(l.TickOf(now)) && false {`,
		test: "TestLeaseOfANodeOfFunctions",
	},
	{
		rule: "a lease that came in between is evicted, and its ticks counted", file: "lease/sqlnode.go",
		old: `max(after, floor(ns, r), r.SkipUntil)`, now: `max(after, r.SkipUntil)`,
		test: "TestFunctionsBeginAboveALease",
	},
	{
		rule: "a namespace with functions does not end", file: "lease/sqlnode.go",
		old: `		if q.Retired == 0 {
			err := fmt`, now: `		if q.Retired < 0 {
			err := fmt`, test: "TestNamespaceOfFunctions",
	},
	{
		rule: "a layout beside functions is proven for all time", file: "lease/sqlnode.go",
		old: `	if q.Retired == 0 {
		return snowfence.Beside`, now: `	if q.Retired == 0 && false {
		return snowfence.Beside`, test: "TestNamespaceOfFunctions",
	},
	{
		rule: "the longest lead of functions counts", file: "lease/sqlnode.go",
		old: `max(old.Lead, n.Lead), cmp`, now: `n.Lead, cmp`, test: "TestNodeIsRecordedForOneDatabase",
	},
	{
		rule: "IDs of retired functions end after their lead and the skew", file: "lease/sqlnode.go",
		old: `max(q.Start, l.TickOf(now.Add(q.Lead+sqlSkew))) + 1`, now: `max(q.Start, l.TickOf(now)) + 1`,
		test: "TestNamespaceOfFunctions",
	},
	{
		rule: "a lease after functions begins above their IDs", file: "lease/sqlnode.go",
		old: `r.Until = max(r.Until, q.Retired)`, now: ``, test: "TestRetiredNodeIsLeasedAboveItsIDs",
	},
	{
		rule: "functions count beside numbers of others", file: "lease/sqlnode.go",
		old: `if ns.Reserved.used() && l.First > 0 && !same {`, now: `if false {`,
		test: "TestReservedNumbersBesideFunctions",
	},
}
