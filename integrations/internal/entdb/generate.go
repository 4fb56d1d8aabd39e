// Package entdb is what ent makes of the schema below.
package entdb

//go:generate go run entgo.io/ent/cmd/ent@v0.14.5 generate ./schema --target .
