//go:build race

package sqlite

// raced: the race detector makes the database thirty times slower, and it finds nothing
// in a loop over more nodes.
const raced = true
