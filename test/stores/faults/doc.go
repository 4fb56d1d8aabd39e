// Package faults hurts real stores and real processes while they make IDs,
// collects what all processes made, and audits it. The package is its
// tests, and the programs in holder and taker, which use the library as a
// user's program would.
package faults
