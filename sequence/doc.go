// Package sequence gives out numbers from a durable counter: 1, 2, 3, …
// over any number of programs and restarts, each number once. A program
// takes a range from a store, and gives out its numbers from memory. A
// range is durable before its first number is used.
//
//	err := sequence.Create(ctx, store, "orders", sequence.Definition{})
//	s, err := sequence.Open(ctx, store, "orders", nil)
//	defer s.Close()
//	n, err := s.Next(ctx)
//
// The store is a [store.Store]: a database, over sqlstore, etcdstore or
// redisstore, or [store.NewMemory] in tests. For the sequences of a server
// see package remote. A sequence is one record beside the leases' records,
// and needs no table of its own. Open a sequence once in a program, because
// each Sequence takes ranges of its own.
//
// [OpenDated] is for numbers that begin again each year, month or day, and
// have the date in their text. [OpenAny] takes numbers from several
// independent stores, and needs one answer.
//
// The modes [Fast], [Dense] and [Strict] differ in the order of the numbers
// and in how often there are gaps. All have gaps: a crash loses the numbers
// that a program held, and a lost answer of the store loses the numbers in
// it. For numbers without gaps, take each in a transaction: see
// sqlstore.SequenceTx.
//
// A store that was rolled back, or failed over to a replica that was
// behind, would give out numbers again. Each take notices this before its
// numbers are used. Then the sequence stops until [Confirm], or does what
// its [Definition] says. Of a dated sequence, a program remembers its takes
// in 100 periods.
package sequence
