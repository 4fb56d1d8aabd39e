// Package process is the registry of all generators that layers share in one process:
// over bare node numbers, and over fences.
//
// An ID of a plain layout is a tick above some low bits. A node and its usable
// sequence numbers are a rectangle: these low bits × all ticks. Layouts of one
// epoch, tick length, number of low bits and secret are one space, in which
// rectangles can be compared.
//
// Invariant: within a space, no tick and low bits become an ID twice, whoever
// asks; only two fences that prove their numbers each in a scope of its own, such as
// two namespaces, may make one ID. It follows from six rules, which the registry's
// mutex keeps together:
//
//   - A rectangle has at most one open generator, so those who ask for equal
//     rectangles share it. A generator never repeats an ID.
//   - Rectangles of two open generators have no low bits in common. One that
//     overlaps another is refused, or replaces it.
//   - To let a generator go is to seal it, then to raise the floor of its space to
//     the first tick above all that it used, and only then to open another. A
//     sealed generator makes nothing more, even for calls under way.
//   - A new generator stamps no tick below the floor, whatever the clock says.
//   - The rectangle of a grant in use overlaps no open generator of a bare number. A
//     bare number over it is refused, also where it may replace others; a grant over
//     a bare number in use is refused. A grant without an end is a bare number too.
//   - A grant begins at the floor or above. When it is given back, lost or replaced,
//     its generator is sealed, then the floor is raised above what was used of it, and
//     only then others get the rectangle. A layer that makes IDs by itself, too, enters
//     each grant in the same order: see [Enter].
//
// So a clock that stepped back, IDs ahead of it and the moment at which the garbage
// collector notices a lost handle change when IDs come, never which.
//
// A handle counts as a user of its generator until Close, or until it is
// garbage. A generator without users is not let go at once: the last few stay
// as they are. So a program that makes a node for each request waits neither for
// the next tick, nor for its old time after the clock stepped back.
//
// None of this reaches beyond the process: see [snowfence.Unguarded].
package process
