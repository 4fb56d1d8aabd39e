// Package lease makes sure that no two generators of a namespace ever stamp
// the same tick with the same node number, wherever they run.
//
// A [Lease] is a [snowfence.Fence] kept in a [Store]: it acquires a node,
// renews it in the background, and heals itself with another grant when it
// is lost. From a store to IDs:
//
//	g, err := lease.Generator(ctx, store, nil)
//	id, err := g.Next(ctx)
//
// # The rules
//
// The store keeps one small record for each node. Its Until is the tick at
// which the holder stops and the next one starts. It is written ahead of
// use, so a process that dies has nothing to report. Records are never
// deleted.
//
//   - Acquire: the grant begins at the highest of Until, now−ttl and the
//     floor of the namespace, and ends at now+ttl, or a tick after its
//     begin. So a process that restarts again and again does not push
//     Until far ahead of the clock. Ticks beyond now + the namespace's
//     longest ttl wait.
//   - Renew, every third of the ttl: Until becomes max(Until, now+ttl), by
//     compare-and-swap on the nonce of the last write. A grant that ended
//     more than a ttl ago begins anew instead. If a renewal fails or is
//     slow, IDs are made up to the acknowledged Until. A write without an
//     answer counts as done only if its own nonce is in the record, and is
//     used only after one more acknowledged swap.
//   - If another process wrote instead, the generator is sealed at once,
//     before anything else. Then the lease heals itself with another grant.
//     To heal, it takes a held node only if it wrote the record itself: a
//     copy of it, with the same memory, is another holder. Before its
//     first grant, a lease takes the node of Options.Node from its holder,
//     unless Options.Guard forbids it.
//   - Give back: the holder seals its generator, and then lowers Until to
//     the tick after the last one that it used.
//   - After each swap, and before its use, the lease reads the namespace.
//     The grant counts only if the namespace is active, its generation is
//     the one in which the node was acquired, and the stores that answered
//     the swap and the read have the identity that the namespace names.
//     Until the first grant of the node has counted, the floor of the
//     namespace must also be the one that the grant was computed from.
//
// Clocks decide which node is taken and when; they never decide safety.
// Package internal/claim applies the rules, and has a script for each.
// Package scope says what a namespace allows, and package sublet divides a
// lease.
//
// # What no lease can see
//
// The promise holds within one namespace of one store that is linearizable
// and durable. There are four exceptions, each with a bound:
//
//   - A machine is resumed twice from one snapshot. Both copies hold the
//     same grant. They can make the same IDs until the second one renews,
//     after a third of the ttl (5 s) if the store answers, and at the
//     latest until the grant ends. The copy that renews second is sealed,
//     and leaves the node to the first.
//   - The snapshot was taken while a node was acquired or renewed: both
//     copies can get the same new grant, with the same bound.
//   - A store is rolled back, and its identity does not show it. A program
//     that acquires a node can be granted ticks again that the store has
//     forgotten. The forgotten holder notices this when it renews, after a
//     third of the ttl (5 s), and that of a sublease at its own renewal or
//     end, unless others have written its node more often by then. If
//     the namespace is gone, a holder over a server notices nothing. If the
//     store does not answer its server then, nobody else learns of it.
//     Once it is noticed, no ID comes twice, because grants start above
//     everything that can have been granted. Where nobody notices it, no ID
//     comes twice once all earlier grants have ended: after the longest ttl
//     and twice the largest skew.
//   - The layout is changed on a store that was rolled back in this way:
//     the proof of the change does not know the last grants. The bound is
//     the same.
package lease
