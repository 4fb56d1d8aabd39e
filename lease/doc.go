// Package lease makes sure that no two generators of a namespace ever stamp the same tick
// with the same node number, wherever they run.
//
// A [Lease] is a [snowfence.Fence] kept in a [Store]: it acquires a node, renews it in
// the background, and heals itself with another grant when it is lost. From a store to
// IDs:
//
//	l, err := lease.Open(ctx, store, "default", scheme, nil)
//	g, err := snowfence.New(snowfence.Config{Fence: l})
//	id, err := g.Next(ctx)
//
// # The rules
//
// The store keeps one small record for each node. Its Until is the tick at which the
// holder stops and above which a successor starts: one number, written ahead of use, so
// that nothing has to be reported when a process dies. Records are never deleted.
//
//   - Acquire: the grant is [max(Until, now−ttl), max(Until+1, now+ttl)). Never more than
//     that is added, so that crash loops do not run away.
//   - Renew, every third of the ttl: Until becomes max(Until, now+ttl), by
//     compare-and-swap on the nonce of the last write. A renewal that fails or is slow is
//     no loss: IDs are made until the acknowledged Until. A reply that was lost is
//     adopted only by its own nonce, and confirmed by a swap before its use.
//   - A swap that was lost to somebody else seals the generator at once, before anything
//     else. Then the lease heals itself with another grant.
//   - Give back: Until is lowered, to the tick after the last one taken, only by the
//     process that sealed its generator.
//   - After each swap, and before its use, the namespace is read: a grant counts only if
//     the generation is the same as before.
//
// Clocks decide which node is taken and when; they never decide safety.
//
// # What no lease can see
//
// The promise holds within one namespace of one store that is linearizable and durable.
// There are four exceptions, each with a bound:
//
//   - A machine is resumed twice from one snapshot: both copies hold the same grant, and
//     can make the same IDs until the second of them renews: a third of the ttl (5 s)
//     while the store answers, and never beyond the end of the grant. The loser of the
//     swap is sealed.
//   - The snapshot was taken while a node was acquired or renewed: both copies can get
//     the same new grant, with the same bound.
//   - A store is rolled back and looks like the one before: a program that acquires a
//     node can be granted ticks again that the store has forgotten. This ends when the
//     forgotten holder renews, after a third of the ttl (5 s), because it notices, and
//     grants then start above everything that can have been granted. If that holder is
//     gone, it ends when all earlier grants have ended ([Options.AfterRollback]).
//   - The layout is changed on a store that was rolled back in this way: the proof of the
//     change does not know the last grants, with the same bound.
package lease
