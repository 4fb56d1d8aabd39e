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
	m("unit: a record of the old unit says nothing of the new one", "lease/scope.change.next", "^TestScripts$",
		drop("ns.Since =")).in("./lease/internal/claim"),
}

// lessorMutants break the rules of who hands nodes out from memory, and of
// servers that pass renewals on to each other.
var lessorMutants = []mutant{
	m("lessor: its unit has the longest ttl", "cmd/internal/server.Space.openUnit", "^TestSingleNodesAreSublet$",
		swap("ns.MaxTTL", "0")),
	m("lessor: its units are of the nodes that are its server's", "cmd/internal/server.Space.openUnit",
		"^TestSubleasesWithin$", swap("within == (snowfence.NodeRange{})", "false")),
	spent("a sublease that was given back counts", "lease/sublet.division.held",
		swap("s.until > tick", "s.tenancy != 0 && s.until > tick")),
	spent("so does a node of the store", "cmd/internal/server.Leases.nodesOf",
		swap("l.Until > now", "l.Held && now >= 0")),
	m("lessor: a ticket of a unit that is gone is lost", "cmd/internal/lessor.Lessor.serverOf",
		"^TestUnitsFollowDemand$", swap("store.ErrLost", "lease.ErrElsewhere")),
	m("lessor: units have lives of their own", "cmd/internal/lessor.Lessor.openUnit", "^TestUnitsFollowDemand$",
		swap("rand.Text()", "rand.Text()[:0]")),
	m("lessor: a unit is leased ahead of demand", "cmd/internal/lessor.most", "^TestUnitsFollowDemand$",
		swap("used*5 > nodes*4", "used > nodes")),
	m("lessor: a unit that comes while it ends is given back", "cmd/internal/lessor.Lessor.openUnit",
		"^TestUnitThatComesTooLate$", drop("l.giveBack(sub.Lease())")),
	m("lessor: holders renew by the end that they have", "cmd/internal/rpc.renewAfter", "^TestRenewAfter$",
		swap("min(third, left)", "max(third, left)")),
	m("lessor: but not more than once a second", "cmd/internal/rpc.renewAfter", "^TestRenewAfter$",
		swap("max(min(third, left), least)", "min(third, left)")),
	m("lessor: nor with jitter", "cmd/internal/rpc.renewAfter", "^TestRenewAfter$",
		swap("max(after-rand.N(after/10+1), least)", "after-rand.N(after/10+1)")),
	forward("with a header that says so", "forwarded", "^TestAnswersOfAnotherServer$",
		drop("req.Header().Set(server.ForwardedHeader")),
	forward("one that does not answer is elsewhere", "answerOf", "^TestRenewalsArePassedOn$",
		swap("server.Elsewhere", "server.Internal")),
	forward("with an answer for each", "leases.forwardAll", "^TestAnswersOfAnotherServer$",
		swap("len(res.Renewals) != len(at)", "false")),
	forward("each where it was asked for", "leases.forwardAll", "^TestRenewalsArePassedOn$",
		swap("out[i] = res.Renewals[k]", "out[k] = res.Renewals[k]")),
	forward("only to a server with a key that it says it has", "newForwarding", "^TestAnswersOfAnotherServer$",
		swap("s.Servers.CheckPeer(c.PeerCertificates[0])", "error(nil)")),
	m("forward: elsewhere is no loss", "cmd/internal/server.kindTable", "^TestRenewalsArePassedOn$",
		inText(`{"elsewhere", http.StatusServiceUnavailable, connect.CodeUnavailable,`,
			`{"elsewhere", http.StatusConflict, connect.CodeAborted,`)).in("./cmd/internal/serve"),
}

// forward is a rule of a server that passes a renewal on.
func forward(rule, function, test string, ops ...op) mutant {
	return m("forward: "+rule, "cmd/internal/rpc."+function, test, ops...).in("./cmd/internal/serve")
}

// spent is a rule of a limit of nodes.
func spent(rule, function string, ops ...op) mutant {
	const test = "^TestNodesThatNobodyElseCanUseCount$"
	return m("limit of nodes: "+rule, function, test, ops...).in("./cmd/internal/server")
}

// agentMutants break two rules: an agent has only nodes of its units, and
// each user has at most a share of them.
var agentMutants = []mutant{
	m("agent: its own store keeps no node", "cmd/internal/agent.namespaceStore.Swap", "^TestAgentHasNothingElse$",
		always("w.New.Namespace == store.Servers")),
	m("agent: a user has a quarter of a unit", "cmd/internal/agent.New", "^TestAgent$",
		swap("max(1, a.Nodes/4)", "a.Nodes")),
	m("agent: it ends with its namespace", "cmd/internal/agent.source.Acquire", "^TestAgentOfAChangedNamespace$",
		never("errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace)")),
}
