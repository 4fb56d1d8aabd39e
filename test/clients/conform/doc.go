// Package conform runs "snowfence conform" on the clients of Snowfence, and has clients of all
// languages make IDs beside each other in one namespace.
//
// The folder perl has a client that was written from docs/reference/specification.md alone.
package conform
