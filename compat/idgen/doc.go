// Package idgen has the API of snow-drift, github.com/yitter/idgenerator-go
// v1.3.3, over Snowfence. Change the import path and nothing else:
//
//	idgen.SetIdGenerator(idgen.NewIdGeneratorOptions(1))
//	id := idgen.NextId()
//
// IDs have the same bits, and no two generators of a process make the same
// ID, however often you set options, while BaseTime, TimestampType and the
// sum of the bit lengths stay. After the clock stepped back, the time in
// IDs does not: the numbers 1 to 4 stay unused. A bare WorkerId is still
// not safe over restarts, nor if a second process or a generator of
// [snowfence.New] has it. A lease or a state file is safe: pass one to
// [SetFence] or [NewOn].
//
// Functions that return no error wait for the next tick, or for the next
// grant of a fence. They hold no lock while they wait, and log it once a
// minute. They panic if waiting cannot help: with bad options, after a
// generator was closed or replaced, and after the lifetime. Functions named
// Try… or …Context return errors instead.
//
// New options with other sequence numbers for a worker in use replace its
// generator: the old one makes no more IDs, and the IDs of the new one
// start above them.
package idgen
