package mutants

// limitMutants break the limit of nodes of a token, one term each: each
// write that may make a node held is followed by a count in the store,
// before anybody hears of the grant.
var limitMutants = []mutant{
	m("limit: a new ticket is counted", "cmd/internal/server.Leases.Acquire", "^TestTwoServersDoubledALimit$",
		never("err == nil && limit > 0")),
	m("limit: and not before it is written", "cmd/internal/server.Leases.Acquire", "^TestTwoServersDoubledALimit$",
		inText(`	if err == nil && limit > 0 {
		used := g.Grant.From // the answer went to no client
		if len(r.Earlier) > 0 {
			used = -1 // a copy of the caller may have an earlier attempt's
		}
		err = s.keepWithin(ctx, id, limit, sp, g.Lease, used)
	}
`, `	if err = s.checkHeld(ctx, id, limit, namespace); err == nil || limit == 0 {
		g, sp, err = s.acquire(ctx, namespace, r)
	}
`)),
	m("limit: what an earlier attempt got keeps its floor", "cmd/internal/server.Leases.Acquire",
		"^TestEarlierAttemptBeyondALimit$",
		swap("used = -1", "used = g.Grant.From")),
	m("limit: tickets of one server count one after the other", "cmd/internal/server.Leases.Acquire",
		"^TestOneServerGivesAwayAllPlaces$",
		swap("defer leave()", "leave()")),
	m("limit: a ticket that is renewed late is counted", "cmd/internal/server.Leases.Renew",
		"^TestEndedTicketsWereRenewedBeyondALimit$",
		swap("sp.layout.TickOf(s.core.now()) >= l.Grant.Until",
			"sp.Scheme().Layout().TickOf(s.core.now()) > l.Grant.Until+1<<40")),
	m("limit: late is judged after the write", "cmd/internal/server.Leases.Renew",
		"^TestRenewalUnderwayBeyondALimit$",
		swap("sp.layout.TickOf(s.core.now()) >= l.Grant.Until",
			"sp.Scheme().Layout().TickOf(began) >= l.Grant.Until"),
		before("next, sp, err := withSpace(", "began := s.core.now()")),
	m("limit: a grant that was used keeps its floor", "cmd/internal/server.Leases.keepLate",
		"^TestRenewalUnderwayBeyondALimit$",
		swap("-1 (2)", "l.Grant.From")),
	m("limit: a ticket that ends now has ended", "cmd/internal/server.Leases.Renew",
		"^TestEndedTicketsOfAnotherToken$",
		swap("sp.layout.TickOf(s.core.now()) >= l.Grant.Until",
			"sp.Scheme().Layout().TickOf(s.core.now()) > l.Grant.Until")),
	m("limit: a ticket beyond it is taken back", "cmd/internal/server.Leases.takeBackTicket",
		"^TestTwoServersDoubledALimit$",
		swap("errors.Join(err, sp.lessor.Release(ctx, l.Ticket, used))", "errors.Join(err)")),
	m("limit: nodes up to it, and not one more", "cmd/internal/server.Leases.checkHeld",
		"^TestTwoServersDoubledALimit$",
		swap("len(held) > limit", "len(held) > limit+1")),
	m("limit: a count that fails keeps nothing", "cmd/internal/server.Leases.checkHeld",
		"^TestNodesThatWereNotCounted$",
		swap("return err", "if err != nil && held == nil { return nil }; return err")),
	m("limit: a ticket is counted though its caller left", "cmd/internal/server.Leases.takeBackTicket",
		"^TestNodesThatWereNotCounted$",
		swap("context.WithoutCancel(ctx)", "ctx")),
	m("limit: nodes whose leases have ended are free", "cmd/internal/server.Leases.nodesOf",
		"^TestEndedTicketsWereRenewedBeyondALimit$",
		swap("l.Until > now", "true")),
	m("limit: nodes of other tokens do not count", "cmd/internal/server.Leases.nodesOf",
		"^TestOneTokenTookAllNodes$",
		swap("id.ownsLabel(l.Label)", "true")),
	m("limit: a unit counts with all its nodes", "cmd/internal/server.Leases.nodesOf", "^TestUnitsCountTheirNodes$",
		swap("v.End(l)", "l.Node+1")),
	m("limit: the name of a token ends with the slash", "cmd/internal/server.Identity.ownsLabel",
		"^TestOneTokenTookAllNodes$",
		swap(`id.labelOf("")`, "id.Name")),
	m("limit: a request beyond it writes nothing", "cmd/internal/server.Leases.checkRoom",
		"^TestOneTokenTookAllNodes$",
		swap("len(held)+more > limit", "len(held)+more > limit+1")),
	m("limit: nor does one that fits into no place", "cmd/internal/server.Leases.checkRoom",
		"^TestOneTokenTookAllNodes$",
		swap("max(r.Nodes, 1) (1)", "min(r.Nodes, 1)")),
	m("limit: a restarted program has its own place", "cmd/internal/server.Leases.checkRoom",
		"^TestOneTokenTookAllNodes$",
		swap("more--", "_ = more")),
}
