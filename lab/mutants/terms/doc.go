// Package terms breaks the code on the path of a grant one term at a time,
// in a copy, and says which of these mutants no test notices. A term is a
// comparison, an operand of && or ||, an argument of max or min, a summand,
// an if that leaves or has no other term, a case, or a count.
//
// All mutants are compiled at once, into the tests of each package: every
// term asks whether it is the broken one, which a variable of the
// environment says. The terms also note that they were reached, so that a
// mutant is tried only on tests that reach it.
package terms
