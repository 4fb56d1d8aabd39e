package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// mariadbText returns the text for a table orders with the key id.
func mariadbText(t testing.TB, args ...string) string {
	return program(t, append([]string{
		"sql", "--dialect", "mariadb", "--node", fmt.Sprint(node), "--table", "orders.id",
	}, args...)...)
}

// A mariadbBase is a database of a server, with the functions of a text and
// the table orders.
type mariadbBase struct {
	m    *servers.MariaDB
	name string
	text string
}

// newMariadbBase makes a database and runs a text there.
func newMariadbBase(t testing.TB, m *servers.MariaDB, text string) (mariadbBase, error) {
	t.Helper()
	b := mariadbBase{m, m.NewDatabase(t), text}
	m.SQL(t, b.name, "CREATE TABLE orders (id BIGINT PRIMARY KEY, item INT NOT NULL)")
	return b, b.load()
}

// mariadbOpener makes databases on a server.
func mariadbOpener(m *servers.MariaDB) opener[mariadbBase] {
	return func(t testing.TB, text string) (mariadbBase, error) { return newMariadbBase(t, m, text) }
}

// load runs the text with the client program, as an operator does.
func (b mariadbBase) load() error {
	cmd := exec.Command("mariadb", "--no-defaults", "--protocol=tcp", "-uroot", "-h127.0.0.1",
		"-P"+strconv.Itoa(b.m.Port), b.name)
	cmd.Stdin = strings.NewReader(b.text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mariadb: %w: %s", err, out)
	}
	return err
}

// with runs what a client does on a new connection.
func (b mariadbBase) with(client func(ctx context.Context, c *sql.Conn) error) error {
	db, err := sql.Open("mysql", b.m.DSN(b.name)+"?interpolateParams=true&multiStatements=true")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return client(ctx, c)
}

// ids runs a query on a connection, and returns what it selects.
func ids(ctx context.Context, c querier, query string, args ...any) (out []snowfence.ID, err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, snowfence.ID(id))
	}
	return out, rows.Err()
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// next takes n IDs on a new connection, each in a transaction of its own.
func (b mariadbBase) next(n int) (out []snowfence.ID, err error) {
	err = b.with(func(ctx context.Context, c *sql.Conn) error {
		for range n {
			got, err := ids(ctx, c, "SELECT snowfence_next()")
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		return nil
	})
	return out, err
}

// client makes n IDs on one connection: a third is selected, a third rolled
// back, a third inserted, many at a time and one by one.
func (b mariadbBase) client(l *ledger, n int) error {
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		for made, turn := 0, 0; made < n; turn++ {
			batch := 1 + turn%2*63
			var got []snowfence.ID
			var err error
			switch turn / 2 % 3 {
			case 0:
				got, err = ids(ctx, c, fmt.Sprintf("SELECT snowfence_next() FROM seq_1_to_%d", batch))
			case 1:
				var tx *sql.Tx
				if tx, err = c.BeginTx(ctx, nil); err != nil {
					return err
				}
				got, err = ids(ctx, tx, fmt.Sprintf("SELECT snowfence_next() FROM seq_1_to_%d", batch))
				err = errors.Join(err, tx.Rollback())
			default:
				got, err = ids(ctx, c, fmt.Sprintf("INSERT INTO orders (item) SELECT seq FROM seq_1_to_%d "+
					"RETURNING id", batch))
			}
			l.add(got...)
			made += len(got)
			// Neighbours on a page of InnoDB can deadlock, as in any table:
			// the client tries again.
			if code := new(mysql.MySQLError); errors.As(err, &code) && (code.Number == 1213 || code.Number == 1205) {
				err = nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// crowd runs clients at once.
func (b mariadbBase) crowd(l *ledger, clients, each int) error {
	return crowd(l, clients, func() error { return b.client(l, each) })
}
