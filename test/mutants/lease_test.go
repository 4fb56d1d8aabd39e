package mutants

var leaseMutants = []mutant{
	{
		rule: "a swap is lost when the nonce is another", file: "lease/memory.go",
		old: `m.records[w.New.Key].Nonce != w.Old`, now: `false`, test: "TestMemory/^swap$",
	},
	{
		rule: "a lost swap is no success", file: "lease/renew.go",
		old: `			gone++
`, now: `			h.records[i] = writes[i].New
`, test: "TestMemory/two_holders",
	},
	{
		rule: "a lost swap seals", file: "lease/lost.go",
		old: `		seal()
	}
	if had`, now: `		_ = seal
	}
	if had`, test: "TestMemory/two_holders",
	},
	{
		rule: "a lost swap seals before anything else", file: "lease/renew.go",
		old: `	case gone > 0 && !doubt:
`, now: `	case gone > 0 && !doubt:
		_, _ = c.st.Get(ctx, keys(h.records))
`, test: "TestMemory/two_holders",
	},
	{
		rule: "a late write of our own is no loss", file: "lease/renew.go",
		old: `doubt := len(h.unanswered) > 0`, now: `doubt := false`, test: "TestMemory/late_write_of_a_renewal",
	},
	{
		rule: "what was adopted is used only after a swap on top of it", file: "lease/renew.go",
		old: `		if err := c.resolve(ctx); err != nil {
			return none, err
		}
`, now: `		if err := c.resolve(ctx); err != nil {
			return none, err
		}
		return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: h.records[0].Until, Nodes: int64(len(h.records))}, nil
`, test: "TestMemory/lost_reply_of_a_renewal",
	},
	{
		rule: "until is written before it is used", file: "lease/renew.go",
		old: `	if err := c.write(ctx, records, until); err != nil {`, now: `	if err := c.write(ctx, records, until); lost(err) {`, test: "TestMemory/lost_reply_of_a_renewal",
	},
	{
		rule: "the namespace is read after the swap and before the use", file: "lease/renew.go",
		old: `	return c.confirm(ctx, until)
}

// write`, now: `	return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: until, Nodes: int64(len(h.records))}, nil
}

// write`, test: "TestMemory/change_of_layout_between",
	},
	{
		rule: "a record of a later generation is not taken by the rules of an earlier one",
		file: "lease/acquire.go",
		old: `		case current.Generation != ns.Generation:
`, now: `		case current.Generation < 0:
`, test: "TestMemory/change_of_layout_that",
	},
	{
		rule: "nothing is granted while the floors are read", file: "lease/change.go",
		old: `		ns.State = Changing
		ns.Generation++
`, now: ``, test: "TestMemory/renewal_while_the_floors",
	},
	{
		rule: "a new layout begins above the floors of the old one", file: "lease/change.go",
		old: `top = max(top, r.Until, r.SkipUntil)`, now: `top = max(top, r.From)`, test: "TestMemory/change_of_layout_during",
	},
	{
		rule: "a tombstone keeps the floors", file: "lease/change.go",
		old: `	if ns.Floor, err = highest(ctx, st, ns); err != nil {`, now: `	if _, err = highest(ctx, st, ns); err != nil {`, test: "TestMemory/deleted_namespace",
	},
	{
		rule: "only who sealed lowers until", file: "lease/release.go",
		old: `			if sealed {`, now: `			if sealed || true {`, test: "TestMemory/generators_one_after_another",
	},
	{
		rule: "an operator's release leaves until alone", file: "lease/manage.go",
		old: `		r = vacated(w, r, w.Text())
`, now: `		r = vacated(w, r, w.Text())
		r.Until = r.From
`, test: "TestMemory/release_and_veto",
	},
	{
		rule: "a grant that nobody gave back is not given out again", file: "lease/lease.go",
		old: `	if l.use.handed {
		l.spend`, now: `	if l.use.handed && false {
		l.spend`, test: "TestMemory/generators_one_after_another",
	},
	{
		rule: "a give-back without an answer ends the grant", file: "lease/lease.go",
		old: `l.use.handed, l.use.spent = nil, nil, false, true`, now: `l.use.handed, l.use.spent = nil, nil, false, false`, test: "TestMemory/lost_reply_of_a_give-back",
	},
	{
		rule: "a grant starts at the floor", file: "lease/grant.go",
		old: `		from = max(from, floor(ns, r))
`, now: `		_ = r
`, test: "TestMemory/take-over",
	},
	{
		rule: "a record without a holder is still a floor", file: "lease/grant.go",
		old: `r.Nonce != "" && r.Generation >= ns.Since {
		f =`, now: `r.Holder != "" && r.Generation >= ns.Since {
		f =`, test: "TestMemory/renewals_racing",
	},
	{
		rule: "an acquisition adds no ttl to a floor ahead of the clock", file: "lease/grant.go",
		old: `max(from+1, t.target(now))`, now: `max(from+t.target(now)-t.layout.TickOf(now), t.target(now))`, test: "TestMemory/restart_after_a_crash",
	},
	{
		rule: "the same, in crash loops", file: "lease/grant.go",
		old: `max(from+1, t.target(now))`, now: `max(from+t.target(now)-t.layout.TickOf(now), t.target(now))`, test: "TestCrashLoopAtOnce",
	},
	{
		rule: "grants follow the clock that stamps IDs after a step back", file: "lease/options.go",
		old: `s.Layout().Bits(snowfence.FieldRollback) == 0:`, now: `n.Time == nil:`, test: "TestGeneratorStepsBack",
	},
	{
		rule: "the skew is that of the clock that stamps IDs", file: "lease/options.go",
		old: `s.Layout().Bits(snowfence.FieldRollback) == 0:`, now: `n.Time == nil:`, test: "TestSkewAfterStepBack",
	},
	{
		rule: "with rollback bits it is the wall clock", file: "lease/options.go",
		old: `s.Layout().Bits(snowfence.FieldRollback) == 0:`, now: `start.IsZero() == false:`, test: "TestRollbackHeals",
	},
	{
		rule: "healing leaves a live holder of a fixed node alone", file: "lease/acquire.go",
		old: `(healing || `, now: `(`, test: "TestMemory/take-over",
	},
	{
		rule: "an acquisition in doubt is settled first", file: "lease/renew.go",
		old: `		return c.settleAcquire(ctx)`, now: `		return c.renew(ctx)`, test: "TestMemory/(lost_and_late_acquisition|errors_at_every_step)",
	},
	{
		rule: "a vanished record or a revision that went back means a store that was set back",
		file: "lease/rollback.go",
		old:  `r.Nonce == "" || r.Revision < h.records[i].Revision`, now: `false`, test: "TestMemory/(store_set_back$|vanished_record)",
	},
	{
		rule: "a vanished namespace too", file: "lease/renew.go",
		old: `		c.suspect = &h.generation
		return none, c.lose(err)`, now: `		return none, c.lose(err)`, test: "TestMemory/vanished_namespace",
	},
	{
		rule: "a replaced store ends the lease", file: "lease/rollback.go",
		old: `	if errors.Is(err, ErrReplaced) {
		return`, now: `	if false {
		return`, test: "TestMemory/replaced_store",
	},
	{
		rule: "an error of a store may mean that it was replaced", file: "lease/rollback.go",
		old: `	if !errors.Is(err, ErrReplaced) {`, now: `	if false {`, test: "TestMemory/replaced_store",
	},
	{
		rule: "after a set-back grants start above all that can have been granted", file: "lease/rollback.go",
		old: `c.ticks.layout.TickOf(now.Add(longest+c.opts.MaxSkew))+1, c.reached`, now: `c.ticks.layout.TickOf(now)`, test: "TestMemory/(store_set_back$|vanished_record)",
	},
	{
		rule: "one holder raises the floor, not each", file: "lease/rollback.go",
		old: `return ns.Generation > after && ns.Floor >= c.reached`, now: `return ns.Generation > after+100`, test: "TestMemory/store_set_back$",
	},
	{
		rule: "a lapsed grant is taken anew", file: "lease/grant.go",
		old: `if t.back(now) > r.Until || `, now: `if `, test: "TestMemory/lapsed",
	},
	{
		rule: "also when the reply is lost", file: "lease/lost.go",
		old: `		h.from = max(h.from, r.From)`, now: `		_ = r`, test: "TestMemory/lapsed",
	},
	{
		rule: "a restored node leaves out what was used ahead", file: "lease/manage.go",
		old: `		r.SkipFrom, r.SkipUntil = ahead, r.Until
`, now: `		_ = ahead
`, test: "TestMemory/clock_far_ahead",
	},
	{
		rule: "a node is restored only where there is a gap", file: "lease/manage.go",
		old: `case r.From <= tick:`, now: `case false:`, test: "TestMemory/clock_far_ahead",
	},
	{
		rule: "a block is lost with each of its nodes", file: "lease/renew.go",
		old: `	case gone > 0 && !doubt:`, now: `	case gone > 0 && gone < len(records):
	case gone > 0 && !doubt:`, test: "TestMemory/blocks",
	},
}
