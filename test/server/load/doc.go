// Package load has many holders renew their leases through one server over
// each store. A second server takes over when the first is killed. The test
// has few holders and audits all their IDs; the benchmark has all nodes of
// a layout (make bench PARTS=holders).
package load
