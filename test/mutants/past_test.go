package mutants

// pastMutants break the rules of IDs for times gone by, one term each.
var pastMutants = []mutant{
	{
		rule: "past: no node is below 0", file: "lease/past.go", test: "TestPastTimes$",
		old: `node < 0 || `, now: ``,
	},
	{
		rule: "past: a node leaves room for hours", file: "lease/past.go", test: "TestPastTimesWithoutAnID",
		old: ` || node > maxNode`, now: ``,
	},
	{
		rule: "past: an error leaves no ID", file: "lease/past.go", test: "TestPastErrorOfALaterHour",
		old: `case err != nil:
			clear(dst)`, now: `case err != nil:`,
	},
	{
		rule: "past: another generation has other times", file: "lease/past.go",
		test: "TestPastLayoutThatCameBackUnseen",
		old:  `ns.Generation != known.Generation || `, now: ``,
	},
	{
		rule: "past: other counts have other numbers", file: "lease/past.go", test: "TestPastOtherNumbersUnseen",
		old: ` || ns.Reserved.Counts != known.Reserved.Counts`, now: ``,
	},
	{
		rule: "past: the end of what was used is raised before use", file: "lease/past.go",
		test: "TestPastBeforeAChangeWithAClockBehind",
		old:  `if top.UnixMilli() >= ns.Reserved.Until {`, now: `if false {`,
	},
	{
		rule: "past: the end is after what was used", file: "lease/past.go",
		test: "TestPastBeforeAChangeWithAClockBehind",
		old:  `top.UnixMilli() >= ns`, now: `top.UnixMilli() > ns`,
	},
	{
		rule: "past: what was written is looked for again", file: "lease/past.go", test: "TestPastOfAnOlderStore",
		old: `b.remember(ns, writes[i].New)`, now: `_ = i`,
	},
	{
		rule: "past: what a lost swap took is made again", file: "lease/past.go", test: "TestPastLostSwap",
		old: `left = append(left, m.i)`, now: `_ = m`,
	},
	{
		rule: "past: an answer that was lost makes no ID", file: "lease/past.go", test: "TestPastLostAnswer",
		old: `			unknown = err
`, now: `			unknown = nil
`,
	},
	{
		rule: "past: the store is looked at between count and use", file: "lease/past.go",
		test: "TestPastSetBackBeforeUse",
		old:  `after, _, err := b.look(ctx, nil)`, now: `after, err := ns, error(nil)`,
	},
	{
		rule: "past: a change between count and use begins anew", file: "lease/past.go", test: "TestPastBeforeUse",
		old: `after.Generation != ns.Generation || `, now: ``,
	},
	{
		rule: "past: other counts between count and use begin anew", file: "lease/past.go", test: "TestPastBeforeUse",
		old: ` || after.Reserved.Counts != ns.Reserved.Counts`, now: ``,
	},
	{
		rule: "past: the next time may be of another second", file: "lease/past_layouts.go", test: "TestPastFullHour",
		old: `t.Unix()+beforeUnix == s.second && `, now: ``,
	},
	{
		rule: "past: the next time of a second may be of another layout", file: "lease/past_layouts.go",
		test: "TestPastTimesAroundAChange",
		old:  ` && s.era.holds(t)`, now: ``,
	},
	{
		rule: "past: times are taken in order", file: "lease/past.go", test: "TestPastTimesAroundAChange",
		old: `slices.SortStableFunc(todo, func`, now: `slices.SortStableFunc(todo[:0], func`,
	},
	{
		rule: "past: a time to come is refused", file: "lease/past.go", test: "TestPastTimes$",
		old: `case t.After(now):`, now: `case false:`,
	},
	{
		rule: "past: a time before a change without a proof is refused", file: "lease/past.go",
		test: "TestPastBeforeAForcedChange",
		old:  `t.UnixMilli() < ns.Reserved.Since:`, now: `false:`,
	},
	{
		rule: "past: a time before the epoch is refused", file: "lease/past.go", test: "TestPastTimes$",
		old: `case t.Before(l.Epoch):`, now: `case false:`,
	},
	{
		rule: "past: a time after the last tick is refused", file: "lease/past.go", test: "TestPastTimes$",
		old: `case l.TickOf(t) > s.era.scheme.MaxTick():`, now: `case false:`,
	},
	{
		rule: "past: a layout without reserved numbers makes none", file: "lease/past.go",
		test: "TestPastTimesWithoutAnID",
		old:  `case s.era.numbers == 0:`, now: `case false:`,
	},
	{
		rule: "past: a layout without the node makes none", file: "lease/past.go", test: "TestPastTimes$",
		old: `case b.node >= s.era.scheme.Nodes():`, now: `case false:`,
	},
	{
		rule: "past: hours have 24 bits", file: "lease/past.go", test: "TestPastTimesWithoutAnID",
		old: `case s.hour() >= 1<<hourBits:`, now: `case false:`,
	},
	{
		rule: "past: a second without a tick makes none", file: "lease/past.go", test: "TestPastTimesWithoutAnID",
		old: `case s.last < s.first:`, now: `case false:`,
	},
	{
		rule: "past: an hour that may have lost its count is full", file: "lease/past.go",
		test: "TestPastAfterABackupWasRestored",
		old:  `ns.Reserved.mayHaveLost(wants[0].hour())`, now: `false`,
	},
	{
		rule: "past: an hour of earlier counts is full", file: "lease/past.go",
		test: "TestPastAfterABackupWasRestored",
		old:  `case full:`, now: `case full && false:`,
	},
	{
		rule: "past: counts that cannot be read stop the hour", file: "lease/past.go", test: "TestPastDamagedCount",
		old: `	case err != nil:
		return Write{}, nil, fmt`, now: `	case false:
		return Write{}, nil, fmt`,
	},
	{
		rule: "past: a second gives as many as it has", file: "lease/past.go", test: "TestPastSecond",
		old: `if n >= w.capacity() {`, now: `if n > w.capacity() {`,
	},
	{
		rule: "past: each ID is counted", file: "lease/past.go", test: "TestPastSecond",
		old: `c[w.index()]++`, now: `_ = w.index()`,
	},
	{
		rule: "past: a record has a revision of its own", file: "lease/past.go", test: "TestPastOfAnOlderStore",
		old: `Revision: r.Revision + 1`, now: `Revision: 1`,
	},
	{
		rule: "past: a count has a holder", file: "lease/past.go", test: "TestPastIsNoNode",
		old: `Holder: pastHolder,`, now: `Holder: "",`,
	},
	{
		rule: "past: hours before now are unsure", file: "lease/past.go", test: "TestPastAfterABackupWasRestored",
		old: `if r.Unsure != 0 && from < r.Unsure {`, now: `if false {`,
	},
	{
		rule: "past: also the hour of that time", file: "lease/past.go", test: "TestPastAfterABackupWasRestored",
		old: `from < r.Unsure {`, now: `until <= r.Unsure {`,
	},
	{
		rule: "past: without a doubt none is unsure", file: "lease/past.go", test: "TestPastTimesWithoutAnID",
		old: `r.Unsure != 0 && `, now: ``,
	},
	{
		rule: "past: an hour before a lost span is open", file: "lease/past.go", test: "TestPastLostSpans",
		old: `s.From < until &&`, now: `(s.From < until || true) &&`,
	},
	{
		rule: "past: an hour that ends with its begin too", file: "lease/past.go", test: "TestPastLostSpans",
		old: `s.From < until &&`, now: `s.From <= until &&`,
	},
	{
		rule: "past: an hour after a lost span is open", file: "lease/past.go", test: "TestPastLostSpans",
		old: ` && from < s.Until`, now: ``,
	},
	{
		rule: "past: an hour that begins with its end too", file: "lease/past.go", test: "TestPastLostSpans",
		old: `from < s.Until`, now: `from <= s.Until`,
	},
	{
		rule: "past: an hour within a lost span is full", file: "lease/past.go", test: "TestPastLostSpans",
		old: `return slices.ContainsFunc(r.Lost`, now: `return slices.ContainsFunc(r.Lost[:0]`,
	},
	{
		rule: "past: a wrong clock raises nothing", file: "lease/past.go", test: "TestPastWithAWrongClock",
		old: `world.From(ctx).Now, pastSkew); err`, now: `world.From(ctx).Now, 1<<62); err`,
	},
	{
		rule: "past: the end lies after now", file: "lease/past.go", test: "TestPastBeforeAChangeWithAClockBehind",
		old: `now.UnixMilli() + 1
	return ns.write`, now: `now.UnixMilli()
	return ns.write`,
	},
	{
		rule: "past: who saw a store go back ends", file: "lease/past.go", test: "TestPastAfterABackupWasRestored",
		old: `if dead != nil {`, now: `if false {`,
	},
	{
		rule: "past: another or a deleted namespace is refused", file: "lease/past.go",
		test: "TestPastOfADeletedNamespace",
		old:  `ns.usable(b.scheme); err != nil`, now: `ns.usable(b.scheme); false`,
	},
	{
		rule: "past: a store that shows less is noticed", file: "lease/past.go", test: "TestPastOfAnOlderStore",
		old: `b.compare(ctx, seen, ns, rs[max(last, 0)]); err != nil`, now: `error(nil); err != nil`,
	},
	{
		rule: "past: secrets are those of the namespace", file: "lease/past.go", test: "TestPastEncrypted",
		old: `case added:`, now: `case added && false:`,
	},
	{
		rule: "past: a holder over a server counts nothing", file: "lease/past.go", test: "TestPastIsNoNode",
		old: `case ns.watched:`, now: `case false:`,
	},
	{
		rule: "past: none before it is allowed", file: "lease/past.go", test: "TestAllowPast$",
		old: `case ns.Reserved.Past == 0:
		return fail(`, now: `case false:
		return fail(`,
	},
	{
		rule: "past: another identity is refused", file: "lease/past.go", test: "TestPastOpenedInAnotherStore",
		old: `id != ns.Reserved.Identity ||`, now: `id != ns.Reserved.Identity && false ||`,
	},
	{
		rule: "past: a suspect store is refused", file: "lease/past.go", test: "TestPastAfterABackupWasRestored",
		old: ` || ns.Reserved.Suspect:`, now: `:`,
	},
	{
		rule: "past: an older namespace is noticed", file: "lease/past.go", test: "TestPastOfAnOlderStore",
		old: `less := ns.Generation < seen.namespace.Generation`, now: `less := false`,
	},
	{
		rule: "past: an older record is noticed", file: "lease/past.go", test: "TestPastOfAnOlderStore",
		old: `last.Revision < was.Revision || `, now: ``,
	},
	{
		rule: "past: another record of that revision is noticed", file: "lease/past.go",
		test: "TestPastOfAnOlderStore",
		old:  ` || last.Revision == was.Revision && last.Nonce != was.Nonce`, now: ``,
	},
	{
		rule: "past: a forgotten choice is noticed", file: "lease/past.go",
		test: "TestPastAfterABackupFromBeforeTheChoice",
		old:  `ns.Reserved.Counts == "" && !same || same &&`, now: `same &&`,
	},
	{
		rule: "past: a store that went back is noted", file: "lease/past.go", test: "TestPastAfterABackupWasRestored",
		old: `if same || ns.Reserved.Counts == "" {`, now: `if ns.Reserved.Counts == "" {`,
	},
	{
		rule: "past: also where the choice was forgotten", file: "lease/past.go",
		test: "TestPastAfterABackupFromBeforeTheChoice",
		old:  `if same || ns.Reserved.Counts == "" {`, now: `if same {`,
	},
	{
		rule: "past: each node has hours of its own", file: "lease/past_counts.go", test: "TestPastIsNoNode",
		old: `node<<hourBits`, now: `node`,
	},
	{
		rule: "past: each hour has a record", file: "lease/past_counts.go", test: "TestPastFullHour",
		old: `node<<hourBits - hour}`, now: `node<<hourBits}`,
	},
	{
		rule: "past: a count is no node", file: "lease/past_counts.go", test: "TestPastIsNoNode",
		old: `-1<<48 - node`, now: `-1<<40 - node`,
	},
	{
		rule: "past: a count is as wide as the largest", file: "lease/past_counts.go", test: "TestPastSecond",
		old: `max(width, bits.Len16(n))`, now: `bits.Len16(n)`,
	},
	{
		rule: "past: counts of another epoch are full", file: "lease/past_counts.go",
		test: "TestPastAfterABackupWasRestored",
		old:  `if was != epoch {`, now: `if was != epoch && false {`,
	},
	{
		rule: "past: a second counts 13 bits", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `return min((s.last-s.first+1)*s.era.numbers, maxCount)`,
		now: `return (s.last - s.first + 1) * s.era.numbers`,
	},
	{
		rule: "past: a short record is damaged", file: "lease/past_counts.go", test: "TestPastDamagedCount",
		old: ` || len(in) != (secondsPerHour*width+7)/8`, now: ``,
	},
	{
		rule: "past: only numbers below the first of the layout", file: "lease/past_layouts.go",
		test: "TestPastSecond",
		old:  `min(ns.Reserved.Past, l.First)`, now: `ns.Reserved.Past`,
	},
	{
		rule: "past: only numbers that were allowed", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `min(ns.Reserved.Past, l.First)`, now: `l.First`,
	},
	{
		rule: "past: each layout ends with the next", file: "lease/past_layouts.go", test: "TestPastLayouts",
		old: `l.TimeOf(p.Floor)
`, now: `time.Time{}
`,
	},
	{
		rule: "past: times before the first layout are its own", file: "lease/past_layouts.go",
		test: "TestPastTimes$",
		old:  `if len(eras) == 0 {`, now: `if false {`,
	},
	{
		rule: "past: others begin with their first tick", file: "lease/past_layouts.go",
		test: "TestPastTicksOfEachLayout",
		old:  `if len(eras) == 0 {`, now: `if true {`,
	},
	{
		rule: "past: tick 0 is left out", file: "lease/past_layouts.go", test: "TestPastTimes$",
		old: `e.first = 1 //`, now: `e.first = 0 //`,
	},
	{
		rule: "past: layouts of another secret make none", file: "lease/past_layouts.go",
		test: "TestPastAfterAnotherSecret",
		old:  `				continue // encrypted`, now: `				_ = 0 // encrypted`,
	},
	{
		rule: "past: another layout has a scheme of its own", file: "lease/past_layouts.go", test: "TestPastLayouts",
		old: `e.scheme, err = snowfence.NewScheme(l)`, now: `_, err = snowfence.NewScheme(l)`,
	},
	{
		rule: "past: a time has the layout of then", file: "lease/past_layouts.go", test: "TestPastLayouts",
		old: `if e = &eras[i]; e.holds(t) {`, now: `if e = &eras[i]; i == len(eras)-1 {`,
	},
	{
		rule: "past: a tick is given for each number once", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `s.first + n/s.era.numbers`, now: `s.first + n`,
	},
	{
		rule: "past: each number is given once", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `Sequence: n % s.era.numbers`, now: `Sequence: 0 * n`,
	},
	{
		rule: "past: long ticks are counted where they begin", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `if e.layout.Tick > time.Second {`, now: `if false {`,
	},
	{
		rule: "past: no tick is before its layout", file: "lease/past_layouts.go", test: "TestPastTicksOfEachLayout",
		old: `max(from, e.first)`, now: `from`,
	},
	{
		rule: "past: no tick is of the next second", file: "lease/past_layouts.go", test: "TestPastSecond",
		old: `min(until, e.floor,`, now: `min(until+9, e.floor,`,
	},
	{
		rule: "past: no tick is of the next layout", file: "lease/past_layouts.go", test: "TestPastTicksOfEachLayout",
		old: `min(until, e.floor,`, now: `min(until,`,
	},
	{
		rule: "past: no tick is to come", file: "lease/past_layouts.go", test: "TestPastTimes$",
		old: `, e.layout.TickOf(now)+1)`, now: `)`,
	},
	{
		rule: "past: ticks that began before a second are not of it", file: "lease/past_layouts.go",
		test: "TestPastSecond",
		old: `		tick++
`, now: `		tick += 0
`,
	},
	{
		rule: "past: the numbers are 0 or 0 to 4", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `last != 0 && last != 4`, now: `false`,
	},
	{
		rule: "past: a tombstone allows none", file: "lease/reserved.go", test: "TestReservedOfADeletedNamespace",
		old: `case ns.State != Active:
			err = ns.notActive()`, now: `case false:
			err = ns.notActive()`,
	},
	{
		rule: "past: numbers are chosen once", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case r.Past != 0:`, now: `case false:`,
	},
	{
		rule: "past: a choice that is made stays", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case r.Past == last+1:`, now: `case false:`,
	},
	{
		rule: "past: nobody else makes such IDs", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case !nobodyElse:`, now: `case false:`,
	},
	{
		rule: "past: none from 1 to 4 beside an original", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case last > 0 && r.Others:`, now: `case false:`,
	},
	{
		rule: "past: 0 may be used beside an original", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `last > 0 && r.Others`, now: `r.Others`,
	},
	{
		rule: "past: layouts are proven before numbers are allowed", file: "lease/reserved.go",
		test: "TestReservedNumbersInChanges",
		old:  `ns.proveReserved(last); err != nil`, now: `ns.proveReserved(last); false`,
	},
	{
		rule: "past: others are noted for good", file: "lease/reserved.go", test: "TestAllowPastKeepsOthers",
		old: `Others: ns.Reserved.Others, Past`, now: `Past`,
	},
	{
		rule: "past: another store may have lost the choice", file: "lease/reserved.go",
		test: "TestPastAllowedInAnotherStore",
		old: `if id != ns.Identity {
			ns.rolledBack(w.Now())`, now: `if false {
			ns.rolledBack(w.Now())`,
	},
	{
		rule: "past: hours before a choice that was lost are unsure", file: "lease/reserved.go",
		test: "TestPastAfterABackupFromBeforeTheChoice",
		old:  `Unsure: ns.RolledBack,`, now: ``,
	},
	{
		rule: "past: others are refused beside 1 to 4", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case ns.Reserved.Past > 1:`, now: `case false:`,
	},
	{
		rule: "past: others may be noted beside 0", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `ns.Reserved.Past > 1:`, now: `ns.Reserved.Past > 0:`,
	},
	{
		rule: "past: a tombstone notes none", file: "lease/reserved.go", test: "TestReservedOfADeletedNamespace",
		old: `case ns.State != Active:
			return false`, now: `case false:
			return false`,
	},
	{
		rule: "past: a lost span has an order", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `if s.From > s.Until {`, now: `if false {`,
	},
	{
		rule: "past: nothing is confirmed where none is allowed", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `case ns.Reserved.Past == 0:`, now: `case false:`,
	},
	{
		rule: "past: lost spans are remembered", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `withSpan(ns.Reserved.Lost, s), true`, now: `ns.Reserved.Lost, true`,
	},
	{
		rule: "past: an empty span is none", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `if s.From < s.Until {`, now: `if true {`,
	},
	{
		rule: "past: 64 lost spans are remembered", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `if len(ns.Reserved.Lost) > maxLost {`, now: `if false {`,
	},
	{
		rule: "past: confirming makes hours full", file: "lease/reserved.go", test: "TestPastAfterABackupWasRestored",
		old: `r.Identity, r.Suspect, r.Counts = id, false, w.Text()`, now: `r.Identity, r.Suspect = id, false`,
	},
	{
		rule: "past: confirming keeps what was unsure", file: "lease/reserved.go",
		test: "TestPastConfirmedWithAClockBehind",
		old:  `max(r.Unsure, r.Until, w`, now: `max(r.Until, w`,
	},
	{
		rule: "past: confirming doubts up to the last ID", file: "lease/reserved.go",
		test: "TestPastConfirmedWithAClockBehind",
		old:  `max(r.Unsure, r.Until, w`, now: `max(r.Unsure, w`,
	},
	{
		rule: "past: confirming doubts up to now", file: "lease/reserved.go", test: "TestPastConfirmedWithAClockBehind",
		old: `r.Until, w.Now().UnixMilli()+1)`, now: `r.Until)`,
	},
	{
		rule: "past: another identity is confirmed", file: "lease/reserved.go",
		test: "TestPastConfirmedWithAClockBehind",
		old:  `r.Identity == id && !r.Suspect`, now: `!r.Suspect`,
	},
	{
		rule: "past: a suspect store is confirmed", file: "lease/reserved.go",
		test: "TestPastAfterABackupWasRestored",
		old:  `r.Identity == id && !r.Suspect`, now: `r.Identity == id`,
	},
	{
		rule: "past: a lease that raises a floor makes counts suspect", file: "lease/reserved.go",
		test: "TestPastAfterALeaseRaisedTheFloor",
		old:  `ns.Reserved.Suspect = ns.Reserved.Past > 0`, now: `_ = ns.Reserved.Past`,
	},
	{
		rule: "past: spans that meet become one", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `o.From <= s.Until && s.From <= o.Until`, now: `false`,
	},
	{
		rule: "past: a span after another stays", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: ` && s.From <= o.Until`, now: ``,
	},
	{
		rule: "past: a span before another stays", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `o.From <= s.Until && `, now: ``,
	},
	{
		rule: "past: a joined span begins with the first", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `min(s.From, o.From)`, now: `s.From`,
	},
	{
		rule: "past: a joined span ends with the last", file: "lease/reserved.go", test: "TestPastLostSpans",
		old: `max(s.Until, o.Until)`, now: `s.Until`,
	},
	{
		rule: "past: layouts that are not known prove nothing", file: "lease/reserved.go",
		test: "TestAllowPastOfAnEarlierVersion",
		old:  `ns.Past == nil && ns.Since > 1`, now: `false`,
	},
	{
		rule: "past: reserved numbers of the layout before count", file: "lease/reserved.go",
		test: "TestReservedNumbersInChanges",
		old:  `Floor: before.Until, FromReserved: true,`, now: `Floor: before.Until,`,
	},
	{
		rule: "past: reserved numbers of the layout after count", file: "lease/reserved.go",
		test: "TestReservedNumbersOfLayoutsBefore",
		old:  `At: e.From, ToReserved: true,`, now: `At: e.From,`,
	},
	{
		rule: "past: layouts before the last change count", file: "lease/reserved.go",
		test: "TestReservedNumbersOfLayoutsBefore",
		old:  ` Past: eras[:i-1],`, now: ``,
	},
	{
		rule: "past: a layout needs reserved numbers", file: "lease/reserved.go", test: "TestAllowPast$",
		old: `if !some {`, now: `if false {`,
	},
	{
		rule: "past: a change counts up to now", file: "lease/change_proof.go", test: "TestPastLayouts",
		old: `old.TickOf(now)+1, tickAtOrAfter`, now: `tickAtOrAfter`,
	},
	{
		rule: "past: a change counts up to the last ID", file: "lease/change_proof.go",
		test: "TestPastBeforeAChangeWithAClockBehind",
		old:  `, tickAtOrAfter(old, time.UnixMilli(ns.Reserved.Until)))`, now: `)`,
	},
	{
		rule: "past: a change without a proof is noted", file: "lease/change_proof.go",
		test: "TestPastBeforeAForcedChange",
		old:  `case err != nil && ns.Reserved.Past > 0:`, now: `case false:`,
	},
	{
		rule: "past: a change is proven with reserved numbers", file: "lease/change_proof.go",
		test: "TestReservedNumbersInChanges",
		old:  `eras[i].Reserved = n.Reserved.used()`, now: `eras[i].Reserved = false`,
	},
	{
		rule: "past: also with those of the past", file: "lease/reserved.go", test: "TestReservedNumbersInChanges",
		old: `return r.Others || r.Past > 0`, now: `return r.Others`,
	},
	{
		rule: "past: also with those of others", file: "lease/reserved.go", test: "TestReservedNumbersInChanges",
		old: `return r.Others || r.Past > 0`, now: `return r.Past > 0`,
	},
	{
		rule: "past: a span of a layout keeps its first tick", file: "lease/change_proof.go",
		test: "TestPastOfALayoutThatCameBack",
		old:  `!counted && p.touches(q)`, now: `p.touches(q)`,
	},
	{
		rule: "past: the first layout is remembered without a tick", file: "lease/change_proof.go",
		test: "TestPastOfAFirstLayoutWithoutATick",
		old:  `if counted && len(out) == 0 {`, now: `if false {`,
	},
	{
		rule: "past: no other one is", file: "lease/change_proof.go", test: "TestPastIsJoinedWhereItMeets",
		old: `counted && len(out) == 0`, now: `counted`,
	},
	{
		rule: "past: no holder sees counts", file: "lease/holders.go", test: "TestPastIsNoNode",
		old: ` || r.Node <= -1<<48`, now: ``,
	},
}
