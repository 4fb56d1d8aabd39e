// Package disk tells what kind of place a path is, because locks of files
// do not hold everywhere.
package disk
