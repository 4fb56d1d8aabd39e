package insql

import (
	"fmt"
	"strings"
)

// SQLite returns the SQL for SQLite 3.35 and later: the table, and in comments the statements of
// the program, each under a line with its name.
func SQLite(p Plan) (string, error) {
	if p.Schema != "" {
		return "", fmt.Errorf("%w: SQLite has no schemas, and no functions to put there: leave it out", ErrPlan)
	}
	n, err := p.one()
	if err != nil {
		return "", err
	}
	return write("sqlite.sql", n, func(name string) string {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	})
}
