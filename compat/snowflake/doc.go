// Package snowflake has the API of github.com/bwmarrin/snowflake, v0.3.0
// and later commits, over Snowfence's generator. Change the import path,
// and the program makes the same IDs, without the duplicates:
//
//	import "github.com/snowfence/snowfence/compat/snowflake"
//
//	node, err := snowflake.NewNode(1)
//	…
//	id := node.Generate()
//
// NewNode takes a bare node number, as the original does. Within one
// process that is safe while Epoch and the sum of NodeBits and StepBits
// stay: nodes with the same number never repeat an ID, even if you make
// them again and again, or the clock steps back. Generators
// that the program makes by [snowfence.New] are not known here. Between
// processes, and over a restart, nothing checks the number. To be safe
// there, use [NewNodeOn]: its fence decides which node this process has.
//
//	scheme, err := snowflake.Scheme()
//	…
//	f, err := statefile.File("/var/lib/app/node1", scheme, 1)
//	…
//	node, err := snowflake.NewNodeOn(f)
//
// # What differs
//
//   - When all numbers of a millisecond are used, Generate takes numbers of
//     the next, and then waits without a lock and without using the
//     processor. So an ID can be a millisecond ahead of the clock. Generate
//     panics after the last millisecond of the layout, instead of starting
//     again with negative IDs.
//   - NewNode fails if NodeBits and StepBits in use, with the same sum and
//     Epoch, could make the same IDs, or if the clock is before Epoch.
//   - ParseBase32 and ParseBase58 refuse text that is empty, or of more
//     than 64 bits; Base32 and Base58 write negative IDs, as numbers from
//     2^63 up.
//   - The zero value of Node makes no IDs, and its errors say so. Use
//     NewNode or NewNodeOn.
package snowflake
