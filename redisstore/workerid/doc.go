// Package workerid takes worker numbers from Redis beside the registrar of
// github.com/yitter/idgenerator-go (snow-drift), with the same keys:
//
//	r, err := workerid.New(client, &workerid.Options{Min: 32, Max: 63, TTL: 15 * time.Second})
//	f, err := r.Fence(ctx, scheme)
//	g, err := snowfence.New(snowfence.Config{Fence: f})
//
// [RegisterOne], [RegisterMany], [UnRegister] and [Validate] have the parameters and results
// of the original, for programs that only want a number. Redis 6.2 or later is needed.
//
// # Whose a number is
//
// The key of a number has the value "Y", for every holder: programs of the original take any
// other value for a free number. So the time at which the key expires says whose it is. We
// set it by SET NX PXAT to a millisecond of our own. A script renews it, and only if it still
// expires when we said. Anything else means that another program set, renewed or deleted the key.
// Then the generator is sealed at once, the key is left as it is, and the fence takes another
// number. The same script gives a number back.
//
// After SET NX a number is held for two seconds and checked twice before its first ID: a
// program of the original that was between its GET and its SET shows itself. Numbers that the
// original tries last are taken first. Its keys Index and Edit are never written.
//
// # Ticks
//
// A grant begins at the time of Redis at the second check, and ends where the key expires. A
// number that was given back expires when its last tick is over. So two holders that use this
// package never have the same tick of a number, whatever the clocks of their machines say. A
// generator whose clock is behind Redis waits; one that is ahead by more than the TTL makes
// no IDs.
//
// # What is promised
//
// Programs that use this package never share a tick of a number while Redis keeps its data,
// no other program writes these keys, and the clock of Redis does not go back. A program of the
// original that takes, renews or deletes a number of ours is noticed within a third of the
// TTL, and until then both make IDs. If it sets the very millisecond that we did, which is one
// case in a thousand, it is noticed when it writes again.
//
// Not noticed is a program of the original that holds a number without renewing it: one that
// is paused, until it wakes, and one that registered again after UnRegister, because its
// renewal has ended. So give ours numbers that no program of the original uses. That is the
// default: [ErrShared] refuses a range in which the original counts, unless Options.Shared is
// set. Package lease over any store has none of these gaps.
//
// # Rights
//
//	ACL SETUSER ids on >PASSWORD ~IdGen:WorkerId:* +eval +set +get +time +pexpiretime +pttl
//	  +pexpireat
//
// Beside these a user needs what its client needs to connect: +hello +auth +ping +client, and
// in a cluster +cluster|slots +cluster|shards.
package workerid
