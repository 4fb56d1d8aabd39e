package mutants

// holdersMutants break what a server allows its holders, one term each.
var holdersMutants = []mutant{
	{
		rule: "holders: a write is of the present generation", file: "lease/holders.go",
		old: `n.Generation != p.ns.Generation`, now: `n.Generation < p.ns.Generation`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a write is not of an earlier generation", file: "lease/holders.go",
		old: `n.Generation != p.ns.Generation`, now: `n.Generation > p.ns.Generation`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: no node is below 0", file: "lease/holders.go",
		old: `n.Node < 0 || `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: no node is above the layout", file: "lease/holders.go",
		old: ` || n.Node >= p.nodes`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a nonce begins with the identity", file: "lease/holders.go",
		old: `!strings.HasPrefix(n.Nonce, who+".")`, now: `false`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a nonce is new", file: "lease/holders.go",
		old: `n.Nonce == w.Old || `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a nonce fits in every store", file: "lease/holders.go",
		old: ` || len(n.Nonce) > longestNonce`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a nonce is a text that every store keeps", file: "lease/holders.go",
		old: ` || !plain(n.Nonce)`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a label fits in every store", file: "lease/holders.go",
		old: `len(n.Label) > longestLabel || `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a label is a text that every store keeps", file: "lease/holders.go",
		old: ` || !plain(n.Label)`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a text is UTF-8", file: "lease/holders.go",
		old: `utf8.ValidString(s) && `, now: `(utf8.ValidString(s) || true) && `, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a text has no zeros", file: "lease/holders.go",
		old: ` && !strings.ContainsRune(s, 0)`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a revision counts the write", file: "lease/holders.go",
		old: `n.Revision != old.Revision+1`, now: `n.Revision > old.Revision+1`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a revision skips none", file: "lease/holders.go",
		old: `n.Revision != old.Revision+1`, now: `n.Revision < old.Revision+1`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a veto is an operator's", file: "lease/holders.go",
		old: `	case n.Veto != old.Veto:
`, now: `	case false:
`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a vetoed node has no holder", file: "lease/holders.go",
		old: `n.Holder != "" && n.Veto != ""`, now: `false`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder says when it began", file: "lease/holders.go",
		old: `!says || holder != who`, now: `!says && false || holder != who`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder is who writes", file: "lease/holders.go",
		old: `holder != who || `, now: `holder != who && false || `, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder fits in every store", file: "lease/holders.go",
		old: ` || len(n.Holder) > longestNonce`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder begins at the floor", file: "lease/holders.go",
		old: `first >= max(f, n.From)`, now: `first >= n.From`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder begins in its run", file: "lease/holders.go",
		old: `first >= max(f, n.From)`, now: `first >= f`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder begins before its end", file: "lease/holders.go",
		old: ` && first <= n.Until)`, now: `)`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder of an earlier layout begins anew", file: "lease/holders.go",
		old: `kept := known && n.Holder`, now: `kept := n.Holder`, test: "^TestHoldersOfAnEarlierLayout$",
	},
	{
		rule: "holders: no end is further ahead than the longest ttl allows", file: "lease/holders.go",
		old: `	case n.Until > max(p.ahead, low):
`, now: `	case false:
`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: what is held is renewed as it is, however far ahead", file: "lease/holders.go",
		old: `max(p.ahead, low)`, now: `p.ahead`, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: above a raised floor there are a few ticks", file: "lease/holders.go",
		old: `, ns.Floor+aboveFloor)`, now: `)`, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: the floor counts the longest ttl", file: "lease/holders.go",
		old: `ns.LongestTTL+ns.slack()`, now: `ns.slack()`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: the floor counts a server that is behind", file: "lease/holders.go",
		old: `ns.LongestTTL+ns.slack()`, now: `ns.LongestTTL`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: only its holder clears a node", file: "lease/holders.go",
		old: `n.Holder == "" && !back && !(known`, now: `n.Holder == "" && !back && false && !(known`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a node without a holder is cleared again as it is", file: "lease/holders.go",
		old: ` && n.Until == low): //`, now: `): //`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: nobody lowers an end", file: "lease/holders.go",
		old: `	case n.Until < low &&`, now: `	case false &&`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a floor that was raised does not end what is held", file: "lease/holders.go",
		old: `		low = old.Until //`, now: `		_ = old.Until //`, test: "^TestHoldersRenewBelowARaisedFloor$",
	},
	{
		rule: "holders: the first grant is above the floor", file: "lease/holders.go",
		old: `	low := f //`, now: `	low := int64(0) //`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder gives back no more than it was granted", file: "lease/holders.go",
		old: `max(start, old.From)`, now: `max(0*start, old.From)`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a holder gives back nothing of an earlier run", file: "lease/holders.go",
		old: `max(start, old.From)`, now: `start`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: who gives back is the holder", file: "lease/holders.go",
		old: `says && held == who`, now: `says && (held == who || true)`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a run goes on from where it began", file: "lease/holders.go",
		old: `n.From == old.From && `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a run goes on from what was before it", file: "lease/holders.go",
		old: ` && n.PrevUntil == old.PrevUntil`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a new run begins where the last one ended", file: "lease/holders.go",
		old: `n.PrevUntil == f && `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a new run begins above the last one", file: "lease/holders.go",
		old: `n.From >= f && `, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: a new run ends after its beginning", file: "lease/holders.go",
		old: ` && n.From <= n.Until`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: used up ticks stay so from their beginning", file: "lease/holders.go",
		old: `known && n.SkipFrom == old.SkipFrom`, now: `known`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: used up ticks stay so to their end", file: "lease/holders.go",
		old: ` && n.SkipUntil == old.SkipUntil`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: nobody uses up ticks from then", file: "lease/holders.go",
		old: `!known && n.SkipFrom == 0`, now: `!known`, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
	},
	{
		rule: "holders: nobody uses up ticks until then", file: "lease/holders.go",
		old: ` && n.SkipUntil == 0`, now: ``, test: "^(TestHoldersRefuse|TestWritesAtTheEdge)$",
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
		rule: "holders: nothing is written while a namespace is changed", file: "lease/holders.go",
		old: `	case ns.State != Active:
`, now: `	case false:
`, test: "^TestHoldersWaitForAChange$",
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
		rule: "holders: a question is a question", file: "lease/holders_look.go",
		old: ` || a.Question == nil`, now: `|| a.Question == nil && false`, test: "^TestHolderDoesNotWriteTheNamespace$",
	},
	{
		rule: "holders: a question shows a few records", file: "lease/holders_look.go",
		old: ` || len(a.Question.Gone) > maxEvidence`, now: ``, test: "^TestHolderDoesNotWriteTheNamespace$",
	},
	{
		rule: "holders: a question does not disturb a change", file: "lease/holders_look.go",
		old: `		case ns.State != Active:
`, now: `		case false:
`, test: "^TestHoldersWaitForAChange$",
	},
	{
		rule: "holders: no reach is negative", file: "lease/holders_look.go",
		old: `reach < 0 || `, now: ``, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: the longest ttl has a limit", file: "lease/holders_look.go",
		old: ` || reach > max(farthest, ns.LongestTTL)`, now: ``, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: it is not lower than what there was", file: "lease/holders_look.go",
		old: `max(farthest, ns.LongestTTL)`, now: `farthest`, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: the longest ttl does not fall", file: "lease/holders_look.go",
		old: `		if reach > ns.LongestTTL {
`, now: `		if true {
`, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: the longest ttl grows in few steps", file: "lease/holders_look.go",
		old: `(reach + time.Second - 1).Truncate(time.Second)`, now: `reach`, test: "^TestHoldersBoundTheLongestTTL$",
	},
	{
		rule: "holders: another store raises the floor", file: "lease/holders_look.go",
		old: `id != ns.Identity || `, now: ``, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: a loss raises the floor", file: "lease/holders_look.go",
		old: ` || lost.raise {`, now: ` {`, test: "^TestHoldersWantProofOfASetBack$",
	},
	{
		rule: "holders: proofs are of the present layout's generations", file: "lease/holders_look.go",
		old: `e.Generation < ns.Since || `, now: ``, test: "^TestHoldersKeepProofsOfALayoutApart$",
	},
	{
		rule: "holders: what is not signed is no proof", file: "lease/holders_look.go",
		old: ` || !hmac.Equal([]byte(mac), []byte(e.MAC))`, now: ``, test: "^TestHoldersWantProofOfASetBack$",
	},
	{
		rule: "holders: without a key nothing is proof", file: "lease/holders_look.go",
		old: `mac == "" || `, now: ``, test: "^TestHoldersSignNothingWithoutAKey$",
	},
	{
		rule: "holders: a proof counts once", file: "lease/holders_look.go",
		old: `ns.Generation > e.Generation && ns.Floor >= e.Until`, now: `false`, test: "^TestHoldersWantProofOfASetBack$",
	},
	{
		rule: "holders: a later generation alone is no floor", file: "lease/holders_look.go",
		old: `ns.Generation > e.Generation && ns.Floor >= e.Until`, now: `ns.Generation > e.Generation`, test: "^TestHoldersRaiseALowFloor$",
	},
	{
		rule: "holders: a floor alone is no later generation", file: "lease/holders_look.go",
		old: `ns.Generation > e.Generation && ns.Floor >= e.Until`, now: `ns.Floor >= e.Until`, test: "^TestHoldersRaiseALowFloor$",
	},
	{
		rule: "holders: a lost generation is a loss", file: "lease/holders_look.go",
		old: ` && ns.Generation >= e.Generation`, now: ``, test: "^TestHoldersSeeGenerationsVanish$",
	},
	{
		rule: "holders: the floor is above all that could be granted", file: "lease/holders_look.go",
		old: `max(ns.farthest(layout, now), lost.until)`, now: `max(0*ns.farthest(layout, now), lost.until)`, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: the floor is above what was lost", file: "lease/holders_look.go",
		old: `max(ns.farthest(layout, now), lost.until)`, now: `max(ns.farthest(layout, now), 0*lost.until)`, test: "^TestHoldersRaiseALowFloor$",
	},
	{
		rule: "holders: the generation is above what was lost", file: "lease/holders_look.go",
		old: `max(ns.Generation, lost.generation) + 1`, now: `ns.Generation + 1`, test: "^TestHoldersSeeGenerationsVanish$",
	},
	{
		rule: "holders: the identity is that of the store", file: "lease/holders_look.go",
		old: `	ns.Identity = id
`, now: ``, test: "^TestHoldersRaiseTheFloorOfAnotherStore$",
	},
	{
		rule: "holders: the server's clock is compared with the store's", file: "lease/holders_look.go",
		old: `	now, err := checkedClock(ctx, h.Store, h.now, ns.slack())
`, now: `	now, err := h.now(), error(nil)
`, test: "^TestHoldersWithABadClockRaiseNothing$",
	},
	{
		rule: "holders: a proof names its namespace", file: "lease/holders_look.go",
		old: `}{e, ns.Name, ns.Layout})`, now: `}{e, "", ns.Layout})`, test: "^TestHoldersKeepProofsApart$",
	},
	{
		rule: "holders: what was written is read again before its use", file: "lease/claim_confirm.go",
		old: `if r.Nonce != h.records[i].Nonce {`, now: `if r.Nonce != h.records[i].Nonce && false {`, test: "^TestHoldersLoseWhatIsNotThere$",
	},
	{
		rule: "holders: without a proof a lease waits for its own ticks", file: "lease/claim_ask.go",
		old: `c.ticks.back(now) >= c.known`, now: `c.ticks.back(now) >= c.known || true`, test: "^TestSetBackWithoutProof$",
	},
	{
		rule: "holders: the first keys are an operator's", file: "lease/keys.go",
		old: `		case !operator && i < max(len(n.Keys), 1):
`, now: `		case false:
`, test: "^TestKeysThatANamespaceWasMadeWithout$",
	},
	{
		rule: "holders: a number means one key", file: "lease/keys.go",
		old: `(id == "" || id == known)`, now: `true`, test: "^TestKeysAreAdded$",
	},
	{
		rule: "holders: a key that is not known is not left out", file: "lease/keys.go",
		old: `		case id == "":
`, now: `		case false:
`, test: "^TestKeysAreKnownFromTheCreation$",
	},
	{
		rule: "holders: a namespace knows its keys from its creation", file: "lease/namespace.go",
		old: `next.Generation, next.State, next.Keys = ns.Generation+1, Active, keys`, now: `next.Generation, next.State = ns.Generation+1, Active`, test: "^TestKeysAreKnownFromTheCreation$",
	},
	{
		rule: "holders: a changed layout has keys of its own", file: "lease/change.go",
		old: `next.Keys, _, err = next.rotated(c.Scheme, true); err != nil`, now: `_, _, err = next.rotated(c.Scheme, true); err != nil`, test: "^TestKeysAreKnownFromTheCreation$",
	},
	{
		rule: "holders: a client adds no key", file: "lease/claim_register.go",
		old: `		case ns.watched && added:
`, now: `		case false:
`, test: "^TestHoldersAddNoKeys$",
	},
}
