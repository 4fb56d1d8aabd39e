// Package scale holds as many leases as there are nodes in a layout,
// 131,072, in one process, over each store. The test has fewer of them; the
// benchmark measures the cost of renewing all (make prove PART=scale).
// Another one has a million holders, to whom two servers sublet nodes.
package scale
