// Package snowfence makes 64-bit IDs for distributed systems and guarantees
// that no two IDs of one namespace are ever equal.
//
// # The idea
//
// A time-based ID is a point (tick, node, sequence). A [Grant] is a
// rectangle in the plane node × tick: one node, and a half-open range of
// ticks. Grants of a namespace never overlap, and a grant is durable before
// the first ID inside it is made. A [Generator] stamps only ticks inside
// its grant and never the same (tick, sequence) twice. From this alone IDs
// are unique, whatever the clocks do: skew, steps back, pauses, crashes,
// restarts. Clocks decide only whether IDs can be made now, and how close
// their timestamps are to the truth.
//
// # Where to start
//
// Most programs lease a node from a database, and the lease renews itself:
// see the packages lease and sqlstore. On one machine, package statefile
// needs no database. The processes share a folder, and IDs stay unique over
// restarts:
//
//	ids, err := statefile.Open("/var/lib/shop/ids")
//	id, err := ids.Next(ctx)
//
// A [Scheme] alone composes and decodes IDs, with the time as an argument,
// and needs neither a clock nor a grant.
//
// [Config] is for advanced use: IDs ahead of the clock (Lead) and coarse
// timestamps for speed (Coarse). [Generator.Fill] makes batches.
// [Generator.Local] returns a handle for each goroutine, so that they do
// not compete for one atomic number.
//
// # Scope
//
// IDs are unique within one namespace of one store (or one state file). Two
// machines with a file each are two stores. With an [Unguarded] node
// number, a restart can repeat IDs.
package snowfence

// Where to find what in this folder:
//
//	id.go encoding*.go                      an ID and its text
//	layout*.go region*.go                   what its bits mean; whether two sets of IDs meet
//	scheme*.go encrypt.go                   parts to an ID and back
//	fence.go                                where grants come from; one in use
//	position.go                             a position becomes an ID
//	generator.go next.go reserve.go         how positions are taken, one by one
//	spread.go                               where a tick begins
//	fill.go local.go                        and many at a time
//	refresh.go close.go                     the next grant; the last is given back
//	errors.go stall*.go doc.go              for all files
