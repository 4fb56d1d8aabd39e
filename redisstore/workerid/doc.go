// Package workerid takes worker numbers from Redis beside the registrar of
// github.com/yitter/idgenerator-go (snow-drift), with the same keys:
//
//	r, err := workerid.New(client, &workerid.Options{Min: 32, Max: 63, TTL: 15 * time.Second})
//	f, err := r.Fence(ctx, scheme)
//	g, err := snowfence.New(snowfence.Config{Fence: f})
//
// [RegisterOne], [RegisterMany], [UnRegister] and [Validate] have the
// parameters and results of the original, for programs that need only a
// number. The package needs Redis 6.2 or later.
//
// # The holder of a number
//
// The key of a number has the value "Y" for every holder, because programs
// of the original take a number with any other value for free. So this
// package identifies a holder by the time at which the key expires. It sets
// the key by SET NX PXAT, with a random millisecond. A script renews the
// key only if it still expires at that time. If it does not, another
// program set, renewed or deleted the key. Then the package seals the
// generator at once and leaves the key as it is, and the fence takes
// another number. The same script gives a number back.
//
// After SET NX the package waits two seconds and checks the key twice
// before the first ID. So it notices a program of the original that was
// between its GET and its SET. It begins with the highest number, because
// the original counts up. It never writes the keys Index and Edit of the
// original.
//
// # Ticks
//
// A grant begins at the time of Redis at the second check, and ends where
// the key expires. A number that was given back expires when its last tick
// is over. So two holders that use this package never have the same tick of
// a number, whatever the clocks of their machines say. A generator whose
// clock is behind Redis waits. One whose clock is ahead by more than the
// TTL makes no IDs.
//
// # What is promised
//
// Programs that use this package never share a tick of a number while Redis
// keeps its data, no other program writes these keys, the clock of Redis
// does not go back, and no machine is resumed twice from one snapshot: then
// both copies have the number until one of them renews it. They have it for
// one more renewal if one was without an answer at the snapshot, or if both
// set the same millisecond. If a program of the original takes, renews or
// deletes a number of this package, its holder notices it within a third of
// the TTL, and until then both make IDs. If that program happens to set the
// same millisecond, which is one case in a thousand, the holder notices it
// when the program writes again.
//
// The package does not notice a program of the original that holds a number
// without renewing it: one that is paused, until it wakes, and one that
// registered again after UnRegister, because it no longer renews. So give
// this package numbers that no program of the original uses. By default it
// refuses a range in which the original counts, with [ErrShared];
// Options.Shared allows it. Package lease over any store has none of these
// gaps.
//
// # Rights
//
//	ACL SETUSER ids on >PASSWORD ~IdGen:WorkerId:* +eval +set +get +time +pttl +pexpireat
//
// From Redis 7 on, add +pexpiretime, which makes the comparison of times
// exact. Besides these, a user needs the rights with which its client
// connects: +hello +auth +ping +client, and in a cluster +cluster|slots
// +cluster|shards.
package workerid
