package insql

import (
	_ "embed"
	"fmt"
)

//go:embed sqlite.sql
var sqliteText string

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
	v := n.values()
	v["Parts"] = n.parts("((id >> %d & %d) << %d)", "0")
	v["Sequence"] = n.sequence("(id >> %d) & %d", "0")
	v["Where"] = n.where()
	v["Table"], v["Column"] = "orders", "id"
	if n.Column != "" {
		v["Table"], v["Column"] = quoted(`"`, n.Table...), quoted(`"`, n.Column)
	}
	return v.fill(sqliteText), nil
}
