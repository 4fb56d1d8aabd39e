package mutants

const serverPackage = "github.com/snowfence/snowfence/cmd/internal/server"

// limitMutants break the limit of nodes of a token, one term each: each write that may make a node
// held is followed by a count in the store, before anybody hears of the grant.
var limitMutants = []mutant{
	{
		rule: "limit: a new ticket is counted", file: "cmd/internal/server/leases.go", pkg: serverPackage,
		old: `s.acquire(ctx, namespace, o); err == nil && limit > 0 {`, now: `s.acquire(ctx, namespace, o); false {`,
		test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: and not before it is written", file: "cmd/internal/server/leases.go", pkg: serverPackage,
		old: `	if g, sp, err = s.acquire(ctx, namespace, o); err == nil && limit > 0 {
		err = s.keepWithin(ctx, id, limit, sp, g.Ticket, g.Ticket.From) // nobody has used it
	}
`, now: `	if err = s.checkHeld(ctx, id, limit, namespace); err == nil || limit == 0 {
		g, sp, err = s.acquire(ctx, namespace, o)
	}
`, test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: tickets of one server count one after the other", file: "cmd/internal/server/leases.go",
		pkg: serverPackage, old: `		defer leave()
`, now: `		leave()
`, test: "^TestOneServerGivesAwayAllPlaces$",
	},
	{
		rule: "limit: a ticket that is renewed late is counted", file: "cmd/internal/server/leases.go",
		pkg: serverPackage, old: `>= t.Until {`, now: `> t.Until+1<<40 {`,
		test: "^TestEndedTicketsWereRenewedBeyondALimit$",
	},
	{
		rule: "limit: late is judged after the write", file: "cmd/internal/server/leases.go", pkg: serverPackage,
		old: `	next, sp, err := withSpace(`, now: `	began := s.now()
	next, sp, err := withSpace(`,
		more: []edit{{`TickOf(s.now()) >= t.Until`, `TickOf(began) >= t.Until`}},
		test: "^TestRenewalUnderwayBeyondALimit$",
	},
	{
		rule: "limit: a grant that was used keeps its floor", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `limit, sp, t, -1)`, now: `limit, sp, t, t.From)`, test: "^TestRenewalUnderwayBeyondALimit$",
	},
	{
		rule: "limit: an ended ticket is renewed by its own token", file: "cmd/internal/server/limit.go",
		pkg: serverPackage, old: `case !id.owns(t.Label) && `, now: `case false && `,
		test: "^TestEndedTicketsOfAnotherToken$",
	},
	{
		rule: "limit: or by who may manage the namespace", file: "cmd/internal/server/limit.go",
		pkg: serverPackage, old: `case !id.owns(t.Label) && id.May(VerbManage, t.Namespace) != nil:`,
		now: `case !id.owns(t.Label):`, test: "^TestEndedTicketsOfAnotherToken$",
	},
	{
		rule: "limit: its own token renews it", file: "cmd/internal/server/limit.go",
		pkg: serverPackage, old: `case !id.owns(t.Label) && id`, now: `case id`,
		test: "^TestEndedTicketsOfAnotherToken$",
	},
	{
		rule: "limit: a ticket that ends now has ended", file: "cmd/internal/server/leases.go", pkg: serverPackage,
		old: `>= t.Until {`, now: `> t.Until {`, test: "^TestEndedTicketsOfAnotherToken$",
	},
	{
		rule: "limit: a ticket beyond it is taken back", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `errors.Join(err, t.Release(ctx, s.store, sp.Scheme(), used, s.tickets()))`, now: `errors.Join(err)`,
		test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: nodes up to it, and not one more", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `err == nil && len(held) > limit {`, now: `err == nil && len(held) > limit+1 {`,
		test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: the last place counts", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `err == nil && len(held) > limit {`, now: `err == nil && len(held) >= limit {`,
		test: "^TestOneTokenTookAllNodes$",
	},
	{
		rule: "limit: a count that fails keeps nothing", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `		err = id.beyond(limit, namespace)
	}
	return err
`, now: `		return id.beyond(limit, namespace)
	}
	return nil
`, test: "^TestNodesThatWereNotCounted$",
	},
	{
		rule: "limit: a ticket is counted though its caller left", file: "cmd/internal/server/limit.go",
		pkg: serverPackage, old: `withStoreTimeout(context.WithoutCancel(ctx))`, now: `withStoreTimeout(ctx)`,
		test: "^TestNodesThatWereNotCounted$",
	},
	{
		rule: "limit: nodes whose leases have ended are free", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `l.Held && id.owns(l.Label)`, now: `l.Taken && id.owns(l.Label)`,
		test: "^TestEndedTicketsWereRenewedBeyondALimit$",
	},
	{
		rule: "limit: those of other tokens do not count", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `l.Held && id.owns(l.Label)`, now: `l.Held`, test: "^TestOneTokenTookAllNodes$",
	},
	{
		rule: "limit: the name of a token ends with the slash", file: "cmd/internal/server/limit.go",
		pkg: serverPackage,
		old: `strings.HasPrefix(label, id.labelOf(""))`, now: `strings.HasPrefix(label, id.Name)`,
		test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
	{
		rule: "limit: a request beyond it writes nothing", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `len(held)+more > limit {`, now: `len(held)+more > limit+1 {`, test: "^TestOneTokenTookAllNodes$",
	},
	{
		rule: "limit: nor does one that fits into no place", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `more := max(nodes, 1)`, now: `more := min(nodes, 1)`, test: "^TestOneTokenTookAllNodes$",
	},
	{
		rule: "limit: a restarted program has its own place", file: "cmd/internal/server/limit.go", pkg: serverPackage,
		old: `			more--
`, now: `			_ = more
`, test: "^TestOneTokenTookAllNodes$",
	},
	{
		rule: "limit: a write is counted", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `	if len(takes) == 0 {`, now: `	if true {`, test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: and not before the store has it", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `	o.swapRest(ctx, writes, errs)
	takes :=`, now: `	defer o.swapRest(ctx, writes, errs)
	takes :=`, test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: writes of one server count one after the other", file: "cmd/internal/server/owned.go",
		pkg: serverPackage, old: `		defer leave()
`, now: `		leave()
`, test: "^TestOneServerGivesAwayAllPlaces$",
	},
	{
		rule: "limit: which writes renew is judged after them", file: "cmd/internal/server/owned.go",
		pkg: serverPackage,
		old: `	errs := make([]error, len(writes))
	if takes := taking(); len(takes) > 0 {`, now: `	errs, before1 := make([]error, len(writes)), taking()
	if takes := before1; len(takes) > 0 {`,
		more: []edit{{`slices.DeleteFunc(taking(), `, `slices.DeleteFunc(before1, `}},
		test: "^TestRenewalUnderwayBeyondALimit$",
	},
	{
		rule: "limit: a write without an answer may be there", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `errs[i] != nil && KindOf(errs[i]) != Unavailable`, now: `errs[i] != nil`,
		test: "^TestNodesThatWereNotCounted$",
	},
	{
		rule: "limit: a write is counted though its caller left", file: "cmd/internal/server/owned.go",
		pkg: serverPackage, old: `withStoreTimeout(context.WithoutCancel(ctx))`, now: `withStoreTimeout(ctx)`,
		test: "^TestNodesThatWereNotCounted$",
	},
	{
		rule: "limit: a node beyond it is taken back", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `errors.Join(err, s.takeBack(ctx, writes[i].New))`, now: `errors.Join(err)`, test: "^TestTwoServersDoubledALimit$",
	},
	{
		rule: "limit: unless it is somebody else's by now", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `err != nil || rs[0].Holder != taken.Holder {`, now: `err != nil || rs[0].Holder == "" {`,
		test: "^TestRefusedNodeOfSomebodyElseByNow$",
	},
	{
		rule: "limit: writes beyond it do not reach the store", file: "cmd/internal/server/owned.go",
		pkg: serverPackage,
		old: `len(held) >= limit {`, now: `len(held) > limit {`, test: "^TestLateRenewalBeyondALimit$",
	},
	{
		rule: "limit: a batch counts its own nodes", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `				held[node] = true
`, now: `				_ = held[node]
`, test: "^TestBatchUpToALimit$",
	},
	{
		rule: "limit: node 0 counts", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `w.New.Node >= 0 &&`, now: `w.New.Node > 0 &&`, test: "^TestBatchUpToALimit$",
	},
	{
		rule: "limit: who gives back takes nothing", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `w.New.Holder != "" && `, now: ``, test: "^TestLoweredLimit$",
	},
	{
		rule: "limit: renewals in time count nothing", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: ` && !id.renews(before[i], w, now) {`, now: ` && (true || id.renews(before[i], w, now)) {`, test: "^TestLoweredLimit$",
	},
	{
		rule: "limit: a renewal replaces the record that was read", file: "cmd/internal/server/owned.go",
		pkg: serverPackage, old: `return old.Nonce == w.Old && `, now: `return `,
		test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
	{
		rule: "limit: a renewal is of the same holder", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `old.Holder == w.New.Holder && `, now: ``, test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
	{
		rule: "limit: a renewal is of the same generation", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `old.Generation == w.New.Generation &&`, now: `true &&`, test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
	{
		rule: "limit: a renewal is of the same token", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: `id.owns(old.Label) && old.Held(now)`, now: `old.Held(now)`, test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
	{
		rule: "limit: a renewal is in time", file: "cmd/internal/server/owned.go", pkg: serverPackage,
		old: ` && old.Held(now)`, now: ``, test: "^TestOnlyRenewalsInTimeCountNothing$",
	},
}
