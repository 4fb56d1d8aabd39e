// Package wordmodel checks the rules of the generator's word (docs/decide/design.md) in a
// small model: every interleaving of a few actors, over ticks of two positions and a
// clock of three or four ticks, is visited, and in each state the promises of the
// generator are checked.
//
// The model repeats the structure of the real code, one step for each atomic operation,
// and steps are named after it:
//
//	try.go     Generator.tryExact and tryCoarse
//	attempt.go Generator.attempt, switchRollback, publish; what Fill and the handles do with what it takes
//	ticker.go  Generator.keepTime
//	owner.go   Generator.ask, fetch and install, hold.raise, hold.seal, Generator.revoke, Generator.Close
//	world.go   the fence behind the generator, the successor that starts where Close gave back, and the clock
//
// Left out are what has no influence on safety: waiting, the soft bound (it is never
// above the end), and quotas (any number serves). Positions of a hold count from its
// first tick, as in the real code, so a position of one grant means another ID in the
// next.
//
// Every rule of the word has mutants: the same model with the rule broken in one place.
// The tests demand that each is caught, and show the shortest way to the damage. A rule
// without a mutant that does damage would be a rule nobody needs.
//
// When the real code changes the order of its atomic operations, change the model in the
// same commit.
package wordmodel
