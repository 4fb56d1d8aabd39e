package mutants

// sequenceMutants are the rules of sequences that simulated programs have
// to miss within so many seeds, or a test beside the code.
var sequenceMutants = []mutant{
	m("sequence: the identity of the store is compared after a take", "sequence.state.isTrusted", "^TestSequenceSeeds$",
		swap("!same || less", "less && (same || !same)")).seeds(40, ""),
	m("sequence: a take of a record that went back is not used", "sequence.source.takeOrdinals", "^TestSequenceSeeds$",
		inText(`if back { // at once`, `if back = false; back { // at once`)).seeds(40, ""),
	m("sequence: what was seen of it is not forgotten when a call fails", "sequence.source.requireConfirmation",
		"^TestSequenceSeeds$", drop("s.least.raise(s.lastState.Confirmed + 1)")).seeds(40, ""),
	m("sequence: nor the revision of a take that was not used", "sequence.source.takeOrdinals",
		"TestRollbackBehindATakeThatWasNotUsed", inText("s.unread.Store(r.Revision)\n\t\treturn", "return")),
	m("sequence: a later range ends the piece in use", "sequence.piece.seal", "^TestSequenceSeeds$",
		swap("p.next.Swap(sealed)", "p.next.Load()")).seeds(40, ""),
	m("sequence: only what follows the piece in use goes back with it", "sequence.source.giveBack",
		"^TestSequenceSeeds$", swap("rest.until == low", "rest.len() > 0")).seeds(40, ""),
	m("sequence: a confirmation starts above what was given", "sequence.state.confirmState", "^TestSequenceSeeds$",
		swap("s.record.From (1)", "_"), swap("max(s.record.From, floor)", "floor")).seeds(40, ""),
	m("sequence: numbers are skipped above what the program had", "sequence.source.skipNumbers", "^TestSequenceSeeds$",
		swap("plus(from, now.AfterFailover)", "from")).seeds(40, ""),
	m("sequence: a period counts from the floor of the confirmation", "sequence.period.adopt", "^TestSequenceSeeds$",
		swap("r.From (1)", "_"), swap("max(r.From, now.lowestOrdinal())", "now.lowestOrdinal()")).seeds(60, ""),
	m("sequence: who comes later waits for a later take", "sequence.Sequence.handOut", "^TestSequenceSeeds$",
		before("s.inTake, got = serve(s.inTake, got)",
			"s.inTake, s.queue = append(s.queue, s.inTake...), nil")).seeds(100, ""),
	m("sequence: one that is made again goes on where it was", "sequence.Create", "^TestSequenceSeeds$",
		swap("s.Deleted = false", "s.Deleted, s.record.From = false, 0")).seeds(40, ""),
	m("sequence: a transaction notices a record that went back", "sequence.openTx", "TestNextTxThatMeetsOthers",
		drop("s.lastTaken =")),
	m("sequence: a take with an unknown outcome is lost", "sequence.source.takeOrdinals", "^TestSequenceSeeds$",
		swap(`if err != nil { s.unread.Store(r.Revision) return span{}, fmt`, `if err != nil && ctx.Err() == nil {
r = k.counter
r.PrevUntil, r.From, r.Revision = r.From, min(r.From+n, k.course.count), r.Revision+1
} else if err != nil {
return span{}, err
}`)).seeds(40, ""),
}
