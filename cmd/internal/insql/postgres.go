package insql

import (
	"cmp"
	"strings"
)

// Postgres returns the SQL for PostgreSQL 12 and later. It runs again without
// harm: positions stay, and other lanes begin above the old ones.
func Postgres(p Plan) (string, error) {
	p.Schema = cmp.Or(p.Schema, "public")
	n, err := p.numbers()
	if err != nil {
		return "", err
	}
	return write("postgres.sql", n, func(name string) string {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	})
}
