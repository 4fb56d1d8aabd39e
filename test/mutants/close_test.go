package mutants

// closeMutants break the rules of Close, Shutdown and Release, one term each.
var closeMutants = []mutant{
	{
		rule: "close: nothing is handed out after the seal", file: "lease/close.go",
		old: `	l.drop(nil)
	l.use.spent = true
	l.mu.Unlock()
	var used`, now: `	l.drop(nil)
	l.mu.Unlock()
	var used`, test: "TestCloseOfAStoreThatHangs",
	},
	{
		rule: "close: the lease seals its generator", file: "lease/close.go",
		old: `		used = seal()`, now: `		_ = seal`, test: "TestCloseOfAStoreThatHangs",
	},
	{
		rule: "close: what a sealed generator used is known", file: "lease/close.go",
		old: `(seal != nil || !handed)`, now: `!handed`, test: "TestCloseOfAStoreThatHangs",
	},
	{
		rule: "close: what nobody was given is unused", file: "lease/close.go",
		old: `(seal != nil || !handed)`, now: `(seal != nil || !handed && handed)`, test: "TestCloseOfALeaseThatNobodyUsed",
	},
	{
		rule: "close: what somebody has without a generator may be used up", file: "lease/close.go",
		old: `(seal != nil || !handed)`, now: `(seal != nil || !handed || handed)`, test: "TestCloseKnowsWhatItDoesNotKnow",
	},
	{
		rule: "close: what was used belongs to its hold", file: "lease/close.go",
		old: `sealed := o != nil && o.hold == l.claim.held`, now: `sealed := o != nil`, test: "TestCloseKnowsWhatItDoesNotKnow",
	},
	{
		rule: "close: no write is begun after the end", file: "lease/renew.go",
		old: `	if err := ctx.Err(); err != nil {
		c.kept`, now: `	if err := ctx.Err(); err != nil && false {
		c.kept`, test: "TestNoAcquisitionAfterClose",
	},
	{
		rule: "close: the keeper ends before the node is given back", file: "lease/close.go",
		old: `if l.world.Wait(-1, l.done, ctx.Done()) != 0 {`, now: `if false {`, test: "TestCloseLetsGoOfTheStore",
	},
	{
		rule: "release: a released grant is not handed out again", file: "lease/close.go",
		old: `l.use.spent, l.demand.want = true, false`, now: `l.demand.want = false`, test: "TestRenewalAfterAFailedClose",
	},
	{
		rule: "release: only of the node that is held", file: "lease/close.go",
		old: `l.use.cur != nil && l.use.cur.Node == g.Node && `, now: `l.use.cur != nil && `, test: "TestReleaseOfAnotherGrant",
	},
	{
		rule: "release: only of the grant that is held", file: "lease/close.go",
		old: ` && l.use.cur.From == g.From {`, now: ` {`, test: "TestReleaseOfAnotherGrant",
	},
	{
		rule: "release: a pending acquisition stays until it is back", file: "lease/release.go",
		old: `				return fmt.Errorf("lease: giving node %d back: %w", writes[0].New.Node, err) // it is tried again`,
		now: `				c.held = nil
				return fmt.Errorf("lease: giving node %d back: %w", writes[0].New.Node, err) // it is tried again`,
		test: "TestShutdownOfAnAcquisitionWithoutAnAnswer",
	},
	{
		rule: "generator: nothing is given back while the fence is asked", file: "close.go", pkg: ".",
		old: `if f != nil && g.world.Wait`, now: `if false && g.world.Wait`, test: "TestCloseWhileTheFenceIsAsked",
	},
	{
		rule: "generator: a fence that went on owes the first nothing", file: "close.go", pkg: ".",
		old: `if err := g.bind(); errors.Is(err, ErrBound) {`, now: `if err := g.bind(); errors.Is(err, ErrClosed) {`, test: "TestShutdownAfterTheFenceWentOn",
	},
	{
		rule: "generator: a grant is given back once", file: "close.go", pkg: ".",
		old: `	if e.back {
		return nil
	}
`, now: ``, test: "TestCloseByMany",
	},
}
