//go:build snowfence_no_mysql

package open

import (
	"database/sql"
	"time"
)

func (a *address) mySQL(func(string) string) (db *sql.DB, most int, timeout time.Duration, err error) {
	return nil, 0, 0, a.leftOut("mysql")
}
