package mutants

// longMutants break the rules of the long range. The simulation has to notice those that decide
// which ticks are granted, and a test the others.
var longMutants = []mutant{
	m("long: a restore raises the range by its own ttl", "lease.Namespace.raise", "^TestLongRange$",
		swap("ns.above(true, l, now)", "ns.above(false, l, now)"),
		also("lease.storeClaim.raiseFloor", never("ns.isLong(c.reachedOn)"))).seeds(60, ""),
	m("long: its floor is its nodes'", "lease.Namespace.FloorOf", "^TestLongRange$",
		never("ns.isLong(node)")).seeds(60, ""),
	m("long: its ttl is no other node's", "lease.Namespace.maxTTL", "^TestLongRange$",
		swap("ns.isLong(node)", "ns.Long.MaxTTL > 0"),
		also("lease.Namespace.nodesFor", swap("nodes.From = ns.Long.First", "_ = ttl"))).seeds(60, ""),
	m("long: nodes that leave it bring its floor", "lease.Namespace.limit", "^TestLongRange$",
		drop("ns.Floor = max(ns.Floor, ns.Long.Floor)")).seeds(60, ""),
	m("long: what it allowed holds for a while after it ended", "lease.Namespace.limit", "^TestLoweredLongRange$",
		inText("if leave ||", "if")),
	m("long: also where only its ttl is smaller", "lease.Namespace.limit", "^TestLoweredLongRange$",
		inText("long.MaxTTL < ns.Long.MaxTTL ||", "")),
	m("long: a new layout begins above its floor", "lease.highest", "^TestStartOfAChangedLayout$",
		swap("max(ns.Floor, ns.Long.Floor)", "ns.Floor")),
	m("long: and above what its ttl allowed, where the store is another one", "lease.change.next",
		"^TestStartOfAChangedLayout$", swap("ns.above(true, old, now)", "ns.above(false, old, now)")),
	m("long: an acquisition counts under the floor of its range", "lease.storeClaim.confirm",
		"^TestConfirmReadsTheNamespace$", swap("ns.floorOver(h.records)", "ns.Floor"),
		also("lease.storeClaim.take", swap("ns.floorOver(rs)", "ns.Floor"))),
	m("long: so does one that is found", "lease.storeClaim.find", "^TestFoundAttempts$",
		swap("from < ns.FloorOf(r.Node)", "from < ns.Floor")),
	m("long: functions begin above its floor", "lease.Namespace.recordSQL", "^TestFunctionsInTheLongRange$",
		swap("ns.FloorOf(node)", "ns.Floor")),
	m("long: a holder knows of which node its highest tick was", "lease.storeClaim.note",
		"^TestRaiseAboveWhatWasGranted$", swap("c.reached, c.reachedOn = until, node", "c.reached = until")),
}
