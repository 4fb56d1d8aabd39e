// Package shop is the output of "sqlc generate", version 1.31.1, for
// sqlc.yaml: models, parameters and queries. There is no go:generate
// directive, because sqlc takes twenty minutes to build.
package shop

import _ "embed"

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string
