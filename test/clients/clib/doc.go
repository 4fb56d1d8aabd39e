// Package clib tests the C library: programs in C over the shim and the Go
// part, and clients of other languages.
package clib
