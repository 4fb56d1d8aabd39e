// Package scale holds as many leases as there are nodes in a layout, 131,072,
// in one process, over each store: a test with fewer of them, and a benchmark
// that says what renewing all of them costs (make prove PART=scale). Another
// one has a million holders, to whom two servers sublet nodes.
package scale
