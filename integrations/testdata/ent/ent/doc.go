// Package ent is what ent makes of the schema. It is made for each run of the test.
package ent
