// Package idgen has the API of snow-drift, github.com/yitter/idgenerator-go v1.3.3,
// over Snowfence. Change the import path and nothing else:
//
//	idgen.SetIdGenerator(idgen.NewIdGeneratorOptions(1))
//	id := idgen.NextId()
//
// IDs have the same bits, and no two generators of a process make the same ID, however
// often options are set. After a clock stepped back, time goes on: there are no IDs
// with the numbers 1 to 4. A bare WorkerId is still not safe over restarts, nor beside
// a second process that has it. [SetFence] and [NewOn] take a lease or a state file,
// which are.
//
// Functions without an error wait for what can come back: the next tick, or a fence
// that lost its grant. They hold no lock meanwhile, and write once a minute to the log.
// They panic where waiting is in vain: bad options, a generator that was closed or
// replaced, a lifetime that is over. Those whose names begin with Try or end in
// Context return errors.
//
// Options that give other sequence numbers to a worker in use replace its generator:
// the old one makes no more IDs, and the new one starts above them.
package idgen
