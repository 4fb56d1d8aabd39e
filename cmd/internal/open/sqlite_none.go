//go:build snowfence_no_sqlite

package open

const hasSQLite = false
