// Package shop is what "sqlc generate" of version 1.31.1 makes of
// sqlc.yaml: models, parameters and queries. It is no go:generate
// directive, because sqlc takes twenty minutes to build.
package shop

import _ "embed"

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string
