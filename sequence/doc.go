// Package sequence gives out numbers from a durable counter: 1, 2, 3, … over any number of programs
// and restarts, without two alike. A program takes a range from a store, and makes numbers of it in
// memory: a range is durable before its first number is used.
//
//	err := sequence.Create(ctx, store, "orders", sequence.Definition{})
//	s, err := sequence.Open(ctx, store, "orders", nil)
//	defer s.Close()
//	n, err := s.Next(ctx)
//
// The store is any [store.Store] but a server's: a database, over sqlstore, etcdstore or
// redisstore, or [store.NewMemory] in tests. A sequence is one record beside the leases' records,
// and needs no table of its own. Open it once in a program: each Sequence takes ranges of its own.
//
// [OpenDated] is for numbers that begin again each year, month or day, and have the date in their
// text. [OpenAny] takes numbers of several independent stores, of which one that answers is enough.
//
// [Fast], [Dense] and [Strict] say what is promised of the order of the numbers, and of gaps. In no
// mode is a gap impossible: a crash loses what a program held, and a lost answer of the store loses
// what was asked for. For numbers without gaps take them in a transaction: sqlstore.SequenceTx.
//
// A store that was rolled back, or failed over to a replica that was behind, would give out
// numbers again. That is noticed after each take, before its use, and then a sequence stops until
// [Confirm], or does what its [Definition] says.
package sequence
