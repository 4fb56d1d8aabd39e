// Package ent is what ent makes of the schema, anew for each run of the
// test.
package ent
