package mutants

// ofSequences is the test of the simulation in which programs take numbers.
const ofSequences = "^TestSequenceSeeds$"

// sequenceMutants are the rules of sequences that simulated programs have to miss within so many
// seeds, or a test beside the code.
var sequenceMutants = []mutant{
	{
		rule: "sequence: the identity of the store is compared after a take", file: "sequence/judge.go",
		old: `moved := id != now.Identity`, now: `moved := id == ""`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: a take of a record that went back is not used", file: "sequence/take.go",
		old: `if back { // at once`, now: `if back = false; back { // at once`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: what was seen of it is not forgotten when a call fails", file: "sequence/judge.go",
		old: `	top.least = max(top.least, s.known.Confirmed+1)
`, now: ``, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: nor the revision of a take that was not used", file: "sequence/take.go", pkg: "./sequence",
		old: `		s.saw(r.Revision)
`, now: ``, test: "TestRollbackBehindATakeThatWasNotUsed",
	},
	{
		rule: "sequence: a later range ends the piece in use", file: "sequence/piece.go",
		old: `p.next.Swap(sealed)`, now: `p.next.Load()`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: only what follows the piece in use goes back with it", file: "sequence/close.go",
		old: `	if rest.until == low {`, now: `	if rest.len() > 0 {`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: an addition that is carried out twice leaves two nonces", file: "lease/add.go",
		old: `a.Nonce + "." + strconv.FormatInt(revision, 10)`, now: `a.Nonce + "." + strconv.FormatInt(0*revision, 10)`,
		pkg: "./sequence", test: "TestGiveBackAfterATakeThatWasRepeated",
	},
	{
		rule: "sequence: a confirmation starts above what was given", file: "sequence/confirm.go",
		old: `s.record.From = max(s.record.From, floor)`, now: `_ = floor`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: numbers are skipped above what the program had", file: "sequence/judge.go",
		old: `plus(from, now.AfterFailover)`, now: `from`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: a period counts from the floor of the confirmation", file: "sequence/period.go",
		old: `r.From = max(r.From, now.floor(s.period))`, now: `_ = now.floor(s.period)`, seeds: 60, test: ofSequences,
	},
	{
		rule: "sequence: a take of a period is not used when it was confirmed meanwhile", file: "sequence/period.go",
		old: `if rs[0].Nonce != s.known.record.Nonce {`, now: `if rs[0].Nonce == "" {`,
		pkg: "./sequence", test: "TestTakeDuringAConfirmation",
	},
	{
		rule: "sequence: each of several stores has the numbers of its class", file: "sequence/share.go",
		old: `course{c.number(class), c.step`, now: `course{c.number(0 * class), c.step`, seeds: 20, test: ofSequences,
	},
	{
		rule: "sequence: a strict one takes nothing ahead", file: "sequence/sequence.go",
		old: `s.exact = o.Exact || s.mode == Strict`, now: `s.exact = o.Exact`, seeds: 20, test: ofSequences,
	},
	{
		rule: "sequence: who comes later waits for a later take", file: "sequence/take.go",
		old: `	waited := len(s.aboard)
`, now: `	waited := len(s.aboard)
	s.aboard, s.queue = append(s.queue, s.aboard...), nil
`, seeds: 100, test: ofSequences,
	},
	{
		rule: "sequence: one that is made again goes on where it was", file: "sequence/manage.go",
		old: `		s.Deleted = false
`, now: `		s.Deleted, s.record.From = false, 0
`, seeds: 40, test: ofSequences,
	},
	{
		rule: "sequence: a take with an unknown outcome is lost", file: "sequence/take.go",
		old: `	if err != nil {
		return span{}, false, fmt.Errorf("sequence %q: taking numbers: %w", s.name, err)
	}
`, now: `	if err != nil && ctx.Err() == nil {
		r = k.counter
		r.PrevUntil, r.From, r.Revision = r.From, min(r.From+n, k.course.count), r.Revision+1
	} else if err != nil {
		return span{}, false, err
	}
`, seeds: 40, test: ofSequences,
	},
}
