package mutants

// holdersMutants break what a server allows its holders, where the rule is no term that TestTerms
// breaks: in these files it breaks all comparisons, operands, cases and arguments of max and min.
var holdersMutants = []mutant{
	{
		rule: "holders: a write is of the present generation", file: "lease/holders_judge.go",
		old: `n.Generation != p.ns.Generation`, now: `n.Generation < p.ns.Generation`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a write is not of an earlier generation", file: "lease/holders_judge.go",
		old: `n.Generation != p.ns.Generation`, now: `n.Generation > p.ns.Generation`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a revision counts the write", file: "lease/holders_judge.go",
		old: `n.Revision != old.Revision+1`, now: `n.Revision > old.Revision+1`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a revision skips none", file: "lease/holders_judge.go",
		old: `n.Revision != old.Revision+1`, now: `n.Revision < old.Revision+1`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: the floor counts the longest ttl", file: "lease/holders_judge.go",
		old: `ns.LongestTTL+ns.slack()`, now: `ns.slack()`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a floor that was raised does not end what is held", file: "lease/holders_judge.go",
		old: `		low = old.Until //`, now: `		_ = old.Until //`, test: "^TestHoldersRenewBelowARaisedFloor$",
	},
	{
		rule: "holders: what a holder showed is not stored", file: "lease/holders.go",
		old: `w.New.Data, w.New.At = stored[i].Data, h`, now: `w.New.At = h`, test: "^TestHoldersKeepTheirOwnTime$",
	},
	{
		rule: "holders: the time of a write is the server's", file: "lease/holders.go",
		old: `w.New.Data, w.New.At = stored[i].Data, h.now().UnixMilli()`, now: `w.New.Data = stored[i].Data`, test: "^TestHoldersKeepTheirOwnTime$",
	},
	{
		rule: "holders: Get shows no key", file: "lease/holders.go",
		old: `if rs[i], err = ns.shown(); err != nil {
			return nil, err
		}
	}
	rs =`, now: `if false {
			return nil, err
		}
	}
	rs =`, test: "^TestHoldersSeeNoKeyOfTickets$",
	},
	{
		rule: "holders: List shows no key", file: "lease/holders.go",
		old: `		if r.Node == NamespaceNode {
			ns, err := namespaceOf`, now: `		if false {
			ns, err := namespaceOf`, test: "^TestHoldersSeeNoKeyOfTickets$",
	},
	{
		rule: "holders: the longest ttl does not fall", file: "lease/holders_judge.go",
		old: `		if reach > ns.LongestTTL {
`, now: `		if true {
`, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: the longest ttl grows in few steps", file: "lease/holders_judge.go",
		old: `(reach + time.Second - 1).Truncate(time.Second)`, now: `(reach + 0*time.Second)`, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: the identity is that of the store", file: "lease/holders_judge.go",
		old: `	ns.Identity = id
`, now: ``, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: the server's clock is compared with the store's", file: "lease/holders_judge.go",
		old: `	now, err := checkedClock(ctx, h.Store, h.now, ns.slack())
`, now: `	now, err := h.now(), error(nil)
`, test: "^TestHoldersWithABadClockRaiseNothing$",
	},
	{
		rule: "holders: a proof names its namespace", file: "lease/holders.go",
		old: `}{e, ns.Name, ns.Layout})`, now: `}{e, "", ns.Layout})`, test: "^TestHoldersKeepProofsApart$",
	},
	{
		rule: "holders: a namespace knows its keys from its creation", file: "lease/namespace.go",
		old: `next.Generation, next.State, next.Keys = ns.Generation+1, Active, keys`, now: `next.Generation, next.State = ns.Generation+1, Active`, test: "^TestKeysAreKnownFromTheCreation$",
	},
	{
		rule: "holders: a changed layout has keys of its own", file: "lease/change_proof.go",
		old: `next.Keys, _, err = next.rotated(c.Scheme, true); err != nil`, now: `_, _, err = next.rotated(c.Scheme, true); err != nil`, test: "^TestKeysAreKnownFromTheCreation$",
	},
}
