// Package process is the set of all generators that layers have in one
// process: of bare node numbers, and over fences.
//
// An ID is a tick above some low bits. Nodes and their usable sequence
// numbers are a part of these. Layouts of one epoch, tick length, number of
// low bits and secret are one space, in which parts can be compared.
//
// Invariant: within a space, no tick and low bits become an ID twice, for
// any caller; only two fences that prove their numbers each in a scope of
// its own, such as two namespaces, may make one ID. It follows from four
// rules, which the set's mutex keeps together:
//
//   - Handles of one bare part share its generator. A generator never
//     repeats an ID.
//   - A generator enters the set with its part before its first ID. The
//     part of a bare number overlaps no others. A grant without an end is a
//     bare number.
//   - To leave the set, a generator is sealed, and then the floor of its
//     space is raised above all that it used. A sealed generator makes
//     nothing more, even for calls under way.
//   - What enters stamps no tick below the floor, whatever the clock says.
//
// So a clock that stepped back, IDs ahead of it and the moment at which the
// garbage collector notices a lost handle change when IDs come, never
// which.
//
// A handle counts as a user of its generator until Close, or until it is
// garbage. The last few bare generators without users stay in the set, so a
// program that makes a node for each request waits neither for the next
// tick, nor for its old time after the clock stepped back.
//
// None of this reaches beyond the process, nor to generators that a program
// makes by [snowfence.New]: see [snowfence.Unguarded].
package process
