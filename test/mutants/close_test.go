package mutants

// closeMutants break the rules of Close, Shutdown and Release, one term each.
var closeMutants = []mutant{
	{
		rule: "close: nothing is handed out after the seal", file: "lease/close.go",
		old: `	l.drop(nil)
	l.spent = true
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
		rule: "close: what was used belongs to its hold", file: "lease/close.go",
		old: `if o != nil && o.hold == l.hold {`, now: `if o != nil {`, test: "TestCloseKnowsWhatItDoesNotKnow",
	},
	{
		rule: "release: only of the node that is held", file: "lease/close.go",
		old: `l.cur != nil && l.cur.Node == g.Node && `, now: `l.cur != nil && `, test: "TestReleaseOfAnotherGrant",
	},
	{
		rule: "release: only of the grant that is held", file: "lease/close.go",
		old: ` && l.cur.From == g.From {`, now: ` {`, test: "TestReleaseOfAnotherGrant",
	},
	{
		rule: "generator: nothing is given back while the fence is asked", file: "close.go", pkg: ".",
		old: `if f != nil && g.world.Wait`, now: `if false && g.world.Wait`, test: "TestCloseWhileTheFenceIsAsked",
	},
	{
		rule: "generator: a grant is given back once", file: "close.go", pkg: ".",
		old: `	if e.back {
		return nil
	}
`, now: ``, test: "TestCloseByMany",
	},
}
