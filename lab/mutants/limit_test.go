package mutants

// limitMutants break the limit of nodes of a token, one term each: each
// write that may make a node held is followed by a count in the store,
// before anybody hears of the grant.
var limitMutants = []mutant{
	m("limit: a new ticket is counted", "cmd/internal/server.Leases.Acquire", "^TestTwoServersDoubledALimit$",
		never("err == nil && limit > 0")),
	m("limit: what an earlier attempt got keeps its floor", "cmd/internal/server.Leases.Acquire",
		"^TestEarlierAttemptBeyondALimit$", swap("used = -1", "used = g.Grant.From")),
	m("limit: tickets of one server count one after the other", "cmd/internal/server.Leases.Acquire",
		"^TestOneServerGivesAwayAllPlaces$", swap("defer leave()", "leave()")),
	m("limit: a sublease that is renewed late is counted", "cmd/internal/server.Leases.Renew",
		"^TestLimitOfSubleases$", never("limit > 0")),
	m("limit: a grant that was used keeps its floor", "cmd/internal/server.Leases.Renew",
		"^TestLimitOfSubleases$", swap("-1", "l.Grant.From")),
	m("limit: an ended lease gives way", "cmd/internal/server.Leases.checkHeld", "^TestOneLimitOfTwoClocks$",
		swap("len(held)+len(ended) <= limit", "true")),
	m("limit: a sublease that ends now has ended", "cmd/internal/server.Leases.isLate",
		"^TestEndedTicketsOfAnotherToken$",
		swap("sp.layout.TickOf(s.core.now()) >= l.Grant.Until",
			"sp.Scheme().Layout().TickOf(s.core.now()) > l.Grant.Until")),
	m("limit: a ticket beyond it is taken back", "cmd/internal/server.Leases.keepWithin",
		"^TestTwoServersDoubledALimit$",
		swap("errors.Join(err, sp.lessor.Release(ctx, l.Ticket, used))", "errors.Join(err)")),
	m("limit: nodes up to it, and not one more", "cmd/internal/server.Leases.checkHeld",
		"^TestTwoServersDoubledALimit$", swap("len(held) > limit", "len(held) > limit+1")),
	m("limit: a count that fails keeps nothing", "cmd/internal/server.Leases.checkHeld",
		"^TestNodesThatWereNotCounted$", swap("return err (1)", "return nil")),
	m("limit: a ticket is counted though its caller left", "cmd/internal/server.Leases.keepWithin",
		"^TestNodesThatWereNotCounted$", swap("context.WithoutCancel(ctx)", "ctx")),
	m("limit: nodes whose leases have ended are free", "cmd/internal/server.Leases.nodesOf",
		"^TestEndedTicketsWereRenewedBeyondALimit$", swap("l.Until > now", "l.Until > now-1<<40")),
	m("limit: nodes of other tokens do not count", "cmd/internal/server.Leases.nodesOf", "^TestOneTokenTookAllNodes$",
		swap("id.ownsLabel(l.Label)", "true")),
	m("limit: a unit counts with all its nodes", "cmd/internal/server.Leases.nodesOf", "^TestUnitsCountTheirNodes$",
		swap("v.End(l)", "l.Node+1")),
	m("limit: the name of a token ends with the slash", "cmd/internal/server.Identity.ownsLabel",
		"^TestOneTokenTookAllNodes$", swap(`id.labelOf("")`, "id.Name")),
	m("limit: a request beyond it writes nothing", "cmd/internal/server.Leases.checkRoom", "^TestOneTokenTookAllNodes$",
		swap("len(held)+more > limit", "len(held)+more > limit+1")),
	m("limit: nor does one that fits into no place", "cmd/internal/server.Leases.checkRoom",
		"^TestOneTokenTookAllNodes$", swap("max(r.Nodes, 1) (1)", "min(r.Nodes, 1)")),
	m("limit: a restarted program has its own place", "cmd/internal/server.Leases.checkRoom",
		"^TestOneTokenTookAllNodes$", swap("more--", "_ = more")),
}

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
		"TestNodeIsRecordedForOneDatabase", drop("after = max(after, l")),
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
