// Package scale has a million holders, to whom two servers sublet nodes
// (make prove PART=scale), and counts the bytes of a renewal.
package scale
