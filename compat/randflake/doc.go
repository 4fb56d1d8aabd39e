// Package randflake has the API of gosuda.org/randflake v1.8.0 over
// Snowfence. A program changes one import path and keeps its code, and each
// package reads the IDs of the other. It differs where the original repeats
// or misreads IDs.
//
// [NewOn] makes a generator over a fence, such as a lease in a database.
// Then no two processes have the same node, whatever their clocks do.
// [NewGenerator] takes a bare node number, as the original does: the caller
// must make sure that only one process at a time has it.
//
// # Duplicates that it prevents
//
// The original makes an ID twice when a sequence overflows in the second in
// which it began, when the clock goes back, and when one node has two
// generators. In this package, generators with the same node, secret and
// lease share one underlying generator. A generator with another lease
// takes the node over, and begins in the first second that has no ID yet.
// If the clock is behind the last ID, Generate returns
// [ErrConsistencyViolation]; if a second is used up,
// [ErrResourceExhausted].
//
// Within a process, a node with a secret is used either as a bare number or
// over a fence. The second use returns [ErrOverlap], until the first one is
// closed or garbage collected. This package does not know of generators
// that the program makes with [snowfence.New].
//
// A generator makes IDs only for seconds of its own lease, both ends
// included. Leases of one node in two processes must have no second in
// common.
package randflake
