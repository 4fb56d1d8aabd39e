// Package native tests the clients that make IDs without the C library, in
// TypeScript, Python and Java: by their own tests and the vectors of the
// specification, as users install them, and by lab/conform. There the Go
// client is judged, too.
//
// The folder perl has a client that was written from
// docs/reference/specification.md alone.
package native
