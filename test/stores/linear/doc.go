// Package linear checks that the compare-and-swap of every store is
// linearizable: that all clients see one order of all swaps and reads,
// whatever happens to connections and servers. Histories of concurrent
// clients are recorded and given to porcupine, a checker for
// linearizability.
package linear
