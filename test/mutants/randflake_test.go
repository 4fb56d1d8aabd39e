package mutants

// randflakeMutants break the rules of compat/randflake, one term each.
var randflakeMutants = []mutant{
	{
		rule: "randflake: positions below the last are used", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestSecondIsUsedUp",
		old: `max(next, first)`, now: `max(0*next, first)`,
	},
	{
		rule: "randflake: positions are of the second asked for", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `max(next, first)`, now: `next`,
	},
	{
		rule: "randflake: a second has an end", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestSecondIsUsedUp",
		old: `case pos == end:`, now: `case false:`,
	},
	{
		rule: "randflake: a batch ends with its second", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestSecondIsUsedUp",
		old: `min(n, end-pos)`, now: `n`,
	},
	{
		rule: "randflake: all of a batch is used", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestGeneratorsOfOneNodeShareWhatWasUsed",
		old: `p.next.Store(pos + count)`, now: `p.next.Store(pos + 1)`,
	},
	{
		rule: "randflake: a later second that was used is a clock behind", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestClockGoesBack",
		old: `case pos > end:`, now: `case false:`,
	},
	{
		rule: "randflake: a clock behind is not a second used up", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestClockGoesBack",
		old: `case pos == end:`, now: `case pos >= end:`,
	},
	{
		rule: "randflake: a second that is used up is not one later", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestSecondIsSharedWhole",
		old: `(p.next.Load()-1)>>`, now: `p.next.Load()>>`,
	},
	{
		rule: "randflake: generators of one node and secret share a position", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestGeneratorsOfOneNodeShareWhatWasUsed",
		old: `	if p == nil {`, now: `	if true {`,
	},
	{
		rule: "randflake: nodes have positions of their own", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestGeneratorsOfOneNodeShareWhatWasUsed",
		old: `nodeKey{secret, node}`, now: `nodeKey{secret, 0 * node}`,
	},
	{
		rule: "randflake: secrets have positions of their own", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestGeneratorsOfOneNodeShareWhatWasUsed",
		old: `nodeKey{secret, node}`, now: `nodeKey{node: node}`,
	},
	{
		rule: "randflake: a batch is used in its second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `now == b.second && now == seen`, now: `b.second == seen`,
	},
	{
		rule: "randflake: a batch is used while nobody is in a later second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestGeneratorsOfOneNodeShareWhatWasUsed",
		old: `now == b.second && now == seen`, now: `now == b.second && seen == seen`,
	},
	{
		rule: "randflake: an ID of a batch is given out once", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestSecondIsUsedUp",
		old: `	if now == b.second && now == seen {
		if i := b.next.Add(1) - 1;`, now: `	if now == b.second && now == seen {
		if i := b.next.Load();`,
	},
	{
		rule: "randflake: the first ID of a batch is given out", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestSecondIsUsedUp",
		old: `	b.next.Store(1)
`, now: ``,
	},
	{
		rule: "randflake: a stalled call reads the clock again", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestStalledAfterTheClock",
		old: `err != ErrConsistencyViolation || now < seen {`, now: `err != ErrConsistencyViolation || now <= now+seen {`,
	},
	{
		rule: "randflake: a closed generator makes nothing", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestClose",
		old: `	case g.over:`, now: `	case false:`,
	},
	{
		rule: "randflake: a lease has a start", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `case now < g.leaseStart || now`, now: `case now`,
	},
	{
		rule: "randflake: a lease has its first second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `case now < g.leaseStart || now`, now: `case now <= g.leaseStart || now`,
	},
	{
		rule: "randflake: a lease has an end", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `now < g.leaseStart || now > g.leaseEnd.Load():`, now: `now < g.leaseStart:`,
	},
	{
		rule: "randflake: a lease has its last second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `now > g.leaseEnd.Load()`, now: `now >= g.leaseEnd.Load()`,
	},
	{
		rule: "randflake: somebody else's batch is used in its second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestBatchOfSomebodyElse",
		old: `b.second == now && b.second == p.second()`, now: `b.second == p.second()`,
	},
	{
		rule: "randflake: somebody else's batch is not used later", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestBatchOfSomebodyElse",
		old: `b.second == now && b.second == p.second()`, now: `b.second == now`,
	},
	{
		rule: "randflake: the system's clock is not trusted beyond a second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestSystemClock$",
		old: `min(trust, time.Second-time.Duration(t.Nanosecond()))`, now: `min(trust, time.Second)`,
	},
	{
		rule: "randflake: the system's clock is looked at", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestSystemClockIsLookedAt",
		old: `min(trust, time.Second-`, now: `max(0, time.Second-`,
	},
	{
		rule: "randflake: a look at the clock is for batches of that second", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestSystemClockIsLookedAt",
		old: `	if now == b.second {
		b.sure`, now: `	if true {
		b.sure`,
	},
	{
		rule: "randflake: a clock behind its grant went back", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestClockBehindTheGrant",
		old: `errors.As(err, &wait) && wait.Behind`, now: `errors.As(err, &wait) && false`,
	},
	{
		rule: "randflake: nobody waits for a lease that only the program renews", file: "compat/randflake/generate.go",
		pkg: "./compat/randflake", test: "TestContextWithoutAFence",
		old: `g.on != nil && errors.Is(err, ErrInvalidLease)`, now: `errors.Is(err, ErrInvalidLease)`,
	},
	{
		rule: "randflake: a closed generator forgets what it has at hand", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestClose",
		old: `	g.over = true
	g.batch.Store(noBatch)`, now: `	g.over = true`,
	},
	{
		rule: "randflake: a lease only grows", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `if leaseEnd <= end {`, now: `if leaseEnd == end {`,
	},
	{
		rule: "randflake: a lease that ends as before is not updated", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `if leaseEnd <= end {`, now: `if leaseEnd < end {`,
	},
	{
		rule: "randflake: an update names the lease", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `|| leaseStart != g.leaseStart |`, now: `|`,
	},
	{
		rule: "randflake: a lease ends with the layout", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestLeaseIsClosed",
		old: `|| leaseEnd > RANDFLAKE_MAX_TIMESTAMP {`, now: `{`,
	},
	{
		rule: "randflake: a fence renews its lease itself", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestOverAFence",
		old: `if g.on != nil || leaseStart`, now: `if leaseStart`,
	},
	{
		rule: "randflake: the lease of a grant ends before Until", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestOverAFence",
		old: `gr.Until - 1`, now: `gr.Until`,
	},
	{
		rule: "randflake: a fence has this layout", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestFencesThatDoNotFit",
		old: `s == nil || s.Layout().String() != want`, now: `s == nil`,
	},
	{
		rule: "randflake: a bare number over a grant is refused", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `if p.grants > 0 {`, now: `if false {`,
	},
	{
		rule: "randflake: one grant is enough", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `if p.grants > 0 {`, now: `if p.grants > 1 {`,
	},
	{
		rule: "randflake: a grant that is entered counts", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `	p.grants++
`, now: ``,
	},
	{
		rule: "randflake: a grant that left counts no more", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `	p.grants--
`, now: ``,
	},
	{
		rule: "randflake: a grant over a bare number in use is refused", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `if p.bare > 0 {`, now: `if false {`,
	},
	{
		rule: "randflake: one bare number is enough", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `if p.bare > 0 {`, now: `if p.bare > 1 {`,
	},
	{
		rule: "randflake: an open generator counts", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `	p.bare++
`, now: ``,
	},
	{
		rule: "randflake: a generator that was dropped counts no more", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceAfterADroppedGenerator",
		old: `	p.bare--
`, now: ``,
	},
	{
		rule: "randflake: a grant begins above what was used", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `return p.second() - RANDFLAKE_EPOCH_OFFSET + 1, nil`, now: `return 0, nil`,
	},
	{
		rule: "randflake: a grant begins with a second of its own", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `RANDFLAKE_EPOCH_OFFSET + 1, nil`, now: `RANDFLAKE_EPOCH_OFFSET, nil`,
	},
	{
		rule: "randflake: what a grant used is used", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `max(p.next.Load(), used<<RANDFLAKE_SEQUENCE_BITS)`, now: `p.next.Load()`,
	},
	{
		rule: "randflake: a grant that leaves lowers nothing", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestUnusedGrantMovesNothing",
		old: `max(p.next.Load(), used<<RANDFLAKE_SEQUENCE_BITS)`, now: `used<<RANDFLAKE_SEQUENCE_BITS`,
	},
	{
		rule: "randflake: all nodes of a block are entered", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberInABlock",
		old: `n < node+nodes;`, now: `n <= node;`,
	},
	{
		rule: "randflake: all nodes of a block leave", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberInABlock",
		old: `range entered {
			p.leave`,
		now: `range entered[:1] {
			p.leave`,
	},
	{
		rule: "randflake: a block that is refused leaves", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberInABlock",
		old: `			leave(0)
`, now: ``,
	},
	{
		rule: "randflake: a block begins above what each node used", file: "compat/randflake/position.go",
		pkg: "./compat/randflake", test: "TestBareNumberInABlock",
		old: `max(floor, first)`, now: `first`,
	},
	{
		rule: "randflake: a bare number enters its position", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `err := g.used.open(nodeID); err != nil`, now: `err := g.used.open(nodeID); false && err != nil`,
	},
	{
		rule: "randflake: a grant enters its position", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `			return positions.enter(uint64(first), node, nodes)
`,
		now: `			return new(registry).enter(uint64(first), node, nodes)
`,
	},
	{
		rule: "randflake: a fence and a bare number have one key", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `c.Encrypt64(0)`, now: `c.Encrypt64(1)`,
	},
	{
		rule: "randflake: a generator that is closed counts no more", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `		g.used.bare--
`, now: ``,
	},
	{
		rule: "randflake: a generator that is closed twice counted once", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `	if !g.over {
`, now: `	if true {
`,
	},
	{
		rule: "randflake: a generator that is closed and dropped counted once", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestDroppedAfterClose",
		old: `		g.lost.Stop()
`, now: ``,
	},
	{
		rule: "randflake: a generator that is dropped leaves", file: "compat/randflake/randflake.go",
		pkg: "./compat/randflake", test: "TestFenceAfterADroppedGenerator",
		old: `AddCleanup(g, (*position).close, g.used)`, now: `AddCleanup(g, func(*position) {}, g.used)`,
	},
	{
		rule: "randflake: a grant begins at the floor of its layer", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `max(gr.From, sp.floor, floor)`, now: `max(gr.From, sp.floor, 0*floor)`,
	},
	{
		rule: "randflake: what its layer refuses is refused", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestFenceBesideABareNumber",
		old: `floor, left, err := f.layer(gr.Node, max(gr.Nodes, 1))
	if err != nil {
		return err
	}`,
		now: `floor, left, err := f.layer(gr.Node, max(gr.Nodes, 1))
	if err != nil {
		left = func(int64) {}
	}`,
	},
	{
		rule: "randflake: a grant that is of no use leaves its layer", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestFenceBelowWhatWasUsed",
		old: `		left(0)
`, now: ``,
	},
	{
		rule: "randflake: a grant enters its layer with all its nodes", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestBareNumberInABlock",
		old: `f.layer(gr.Node, max(gr.Nodes, 1))`, now: `f.layer(gr.Node, 1)`,
	},
	{
		rule: "randflake: a grant without a block is one node", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `f.layer(gr.Node, max(gr.Nodes, 1))`, now: `f.layer(gr.Node, gr.Nodes)`,
	},
	{
		rule: "randflake: a grant leaves its layer", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `		f.left(end)
`, now: `		_ = end
`,
	},
	{
		rule: "randflake: a layer is told what was used", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestBareNumberBesideAFence",
		old: `			end = used
`, now: ``,
	},
	{
		rule: "randflake: a layer is not told what was not used", file: "compat/internal/process/fenced.go",
		pkg: "./compat/randflake", test: "TestUnusedGrantMovesNothing",
		old: `f.left(end)`, now: `f.left(max(end, used))`,
	},
}
