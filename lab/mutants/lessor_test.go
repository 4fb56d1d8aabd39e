package mutants

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
