package orders

import (
	"context"
	"database/sql"

	"github.com/snowfence/snowfence"
)

func ParentOf(ctx context.Context, db *sql.DB, id snowfence.ID) (sql.Null[snowfence.ID], error) {
	var parent sql.Null[snowfence.ID]
	err := db.QueryRowContext(ctx, `SELECT parent FROM orders WHERE id = $1`, id).Scan(&parent)
	return parent, err
}
