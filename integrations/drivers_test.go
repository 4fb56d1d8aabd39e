package integrations

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"

	"github.com/snowfence/snowfence"
	pgxorders "github.com/snowfence/snowfence/integrations/internal/page/pgx"
	sqlorders "github.com/snowfence/snowfence/integrations/internal/page/sql"
	"github.com/snowfence/snowfence/integrations/pgxid"
)

const tables = `CREATE TABLE orders (id bigint PRIMARY KEY, parent bigint, users bigint[], name text)`

func testSQL(t *testing.T, url string) {
	ctx, db, ids := t.Context(), openSQL(t, url), newIDs(t)
	must(db.ExecContext(ctx, tables))

	id := must(ids.Next(ctx))
	must(db.ExecContext(ctx, `INSERT INTO orders (id, parent) VALUES ($1, $2)`, id, nil))
	parent := must(sqlorders.ParentOf(ctx, db, id))
	if parent.Valid {
		t.Errorf("parent is %v", parent)
	}
	parent = sql.Null[snowfence.ID]{V: id, Valid: true}
	must(db.ExecContext(ctx, `INSERT INTO orders (id, parent) VALUES ($1, $2)`, snowfence.ID(-5), parent))
	var order OrderID
	var user UserID
	var pointer *snowfence.ID
	err := db.QueryRowContext(ctx, `SELECT id, parent, parent FROM orders WHERE parent = $1`, OrderID(id)).
		Scan(&order, &user, &pointer)
	if err != nil || order != -5 || user != UserID(id) || *pointer != id {
		t.Errorf("scanned %d, %d, %v, %v", int64(order), int64(user), pointer, err)
	}
	var plain snowfence.ID
	err = db.QueryRowContext(ctx, `SELECT NULL::bigint`).Scan(&plain)
	if err == nil || !strings.Contains(err.Error(), "sql.Null") {
		t.Errorf("NULL into an ID: %v", err)
	}
}

func testPgx(t *testing.T, url string) {
	ctx, conn, ids := t.Context(), connect(t, url), newIDs(t)
	must(conn.Exec(ctx, tables))

	rows := make([]snowfence.ID, 1000)
	must(ids.Fill(ctx, rows))
	must(conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "parent"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return []any{rows[i], rows[0]}, nil })))
	found := must(conn.Query(ctx, `SELECT id FROM orders WHERE id = ANY($1) ORDER BY id`, rows[:10]))
	few := must(pgx.CollectRows(found, pgx.RowTo[snowfence.ID]))
	if !slices.Equal(few, rows[:10]) {
		t.Errorf("read %v, want %v", few, rows[:10])
	}
	users := []UserID{1, -2, UserID(rows[5])}
	must(conn.Exec(ctx, `UPDATE orders SET users = $1 WHERE id = $2`, users, OrderID(rows[3])))
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		var got []UserID
		var id OrderID
		var null *snowfence.ID
		err := conn.QueryRow(ctx, `SELECT users, id, NULL::bigint FROM orders WHERE id = $1`, mode, rows[3]).
			Scan(&got, &id, &null)
		if err != nil || !slices.Equal(got, users) || id != OrderID(rows[3]) || null != nil {
			t.Errorf("%v: read %v, %v, %v, %v", mode, got, id, null, err)
		}
	}
}

// pgx could not write an ID into a column of text: "cannot find encode
// plan".
func testPgxText(t *testing.T, url string) {
	ctx, ids := t.Context(), newIDs(t)
	const insert = `INSERT INTO texts (id, parent) VALUES ($1, $2)`
	id := must(ids.Next(ctx))
	conn := connect(t, url)
	must(conn.Exec(ctx, `CREATE TABLE texts (id text, parent varchar(20), many text[], number bigint)`))
	_, err := conn.Exec(ctx, insert, id, id)
	if err == nil || !strings.Contains(err.Error(), "encode plan") {
		t.Errorf("without pgxid: %v; this test expects what pgx does", err)
	}
	must(conn.Exec(ctx, `INSERT INTO texts (id) VALUES ($1::bigint)`, id))
	must(conn.Exec(ctx, `DELETE FROM texts`))

	pool := must(pgxorders.OpenPool(ctx, url))
	defer pool.Close()
	must(pool.Exec(ctx, insert, OrderID(id), id)) // as decimal numbers

	var text string
	var order OrderID
	err = pool.QueryRow(ctx, `SELECT id, parent FROM texts WHERE id = $1`, UserID(id)).Scan(&text, &order)
	if err != nil || text != id.String() || order != OrderID(id) {
		t.Errorf("read %q, %v, %v; want %v", text, order, err, id)
	}
	many := []snowfence.ID{id, -1, 0}
	must(pool.Exec(ctx, `UPDATE texts SET many = $1, number = $2`, many, &order))
	var got []OrderID
	var number snowfence.ID
	err = pool.QueryRow(ctx, `SELECT many, number FROM texts WHERE number = ANY($1)`, many).Scan(&got, &number)
	if err != nil || len(got) != 3 || got[0] != OrderID(id) || got[1] != -1 || number != id {
		t.Errorf("read %v, %v, %v", got, number, err)
	}
	must(pool.CopyFrom(ctx, pgx.Identifier{"texts"}, []string{"id", "parent", "many", "number"},
		pgx.CopyFromRows([][]any{{id, OrderID(id), many, UserID(id)}, {&id, (*OrderID)(nil), nil, nil}})))
	var n int
	err = pool.QueryRow(ctx, `SELECT count(*) FROM texts WHERE id = $1`, id).Scan(&n)
	if err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
	var wrong error
	if _, wrong = pool.Exec(ctx, `SELECT $1::timestamptz`, id); wrong == nil {
		t.Error("an ID was written as a time")
	}
}

func testPgxTextSQL(t *testing.T, url string) {
	ctx := t.Context()
	config := must(pgx.ParseConfig(url))
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		pgxid.Register(c.TypeMap())
		return nil
	}))
	defer db.Close()
	var id OrderID
	err := db.QueryRowContext(ctx, `SELECT $1::text`, snowfence.ID(-77)).Scan(&id)
	if err != nil || id != -77 {
		t.Errorf("read %v, %v", id, err)
	}
	var null sql.Null[snowfence.ID]
	if err := db.QueryRowContext(ctx, `SELECT $1::bigint`, null).Scan(&null); err != nil || null.Valid {
		t.Errorf("read %v, %v", null, err)
	}
}

type orderRow struct {
	ID     snowfence.ID
	Parent *snowfence.ID
}

func testSqlx(t *testing.T, url string) {
	ctx, ids := t.Context(), newIDs(t)
	db := sqlx.NewDb(openSQL(t, url), "pgx")
	must(db.ExecContext(ctx, tables))

	id := must(ids.Next(ctx))
	must(db.NamedExecContext(ctx, `INSERT INTO orders (id, parent) VALUES (:id, :parent)`, orderRow{ID: id}))
	query, args, err := sqlx.In(`SELECT id, parent FROM orders WHERE id IN (?)`, []snowfence.ID{id, 2})
	check(t, err)
	var rows []orderRow
	check(t, db.SelectContext(ctx, &rows, db.Rebind(query), args...))
	if len(rows) != 1 || rows[0].ID != id || rows[0].Parent != nil {
		t.Errorf("read %+v", rows)
	}
}
