// Package load has many holders renew their leases through one server over each
// store, and lets a second server take over when the first is killed: a test
// with few holders and an audit of all their IDs, and a benchmark with all
// nodes of a layout (make bench PARTS=holders).
package load
