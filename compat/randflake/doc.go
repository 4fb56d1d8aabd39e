// Package randflake is the API of gosuda.org/randflake v1.8.0 over Snowfence: a
// program changes one import path and keeps its code, and its IDs are read by
// both. It differs where the original repeats or misreads IDs.
//
// [NewOn] makes a generator over a fence, such as a lease in a database. Then no
// two processes have the same node, whatever their clocks do. [NewGenerator] takes
// a bare node number, as there: only the caller makes sure that one process
// at a time has it.
//
// # What cannot happen here
//
// The original makes an ID twice when a sequence overflows in the second in which
// it began, when the clock goes back, and when one node has two generators. Here
// generators of one node, secret and lease are one, and one with another lease takes
// the node: it begins in the first second of which nothing was used. A clock behind
// what was used gets [ErrConsistencyViolation], a second that is used up
// [ErrResourceExhausted].
//
// In a process, a node and secret are a bare number or a fence's, never both at
// a time: the other is refused with [ErrOverlap], until the first is closed or
// garbage. Generators that the program makes by [snowfence.New] are not known here.
//
// A generator makes IDs only for seconds of its own lease, both ends included.
// Leases of one node in two processes must have no second in common.
package randflake
