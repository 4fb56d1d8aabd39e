package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// needed are the rights on the tables.
const needed = "SELECT, INSERT, UPDATE"

// explainDenied adds to a missing right the statements by which an administrator makes the
// tables for the user. Other errors stay as they are.
func (s *Store) explainDenied(ctx context.Context, c *sql.Conn, err error) error {
	if err == nil || s.dialect.denied == nil || !s.dialect.denied(err) {
		return err
	}
	user, before, after, askErr := s.dialect.rights(ctx, c)
	if askErr != nil {
		return err
	}
	var b strings.Builder
	meta := metaTable + s.dialect.versioned
	for _, step := range slices.Concat(before, []string{meta}, s.dialect.schema, s.dialect.optional, after) {
		b.WriteString(strings.Join(strings.Fields(step), " ") + ";\n") // one line each
	}
	return fmt.Errorf("the user %s may not make the tables, or use them (%v): let an administrator run these "+
		"statements, and start again:\n%s", user, err, b.String())
}

// tablesExist reports whether both tables are there.
func (s *Store) tablesExist(ctx context.Context, c *sql.Conn) (bool, error) {
	rows, err := c.QueryContext(ctx, "SELECT 1 FROM snowfence_meta, snowfence_lease WHERE 1 = 0")
	if err != nil {
		if s.dialect.noTable(err) {
			err = nil
		}
		return false, err
	}
	defer rows.Close()
	for rows.Next() { // drivers may tell errors only here
	}
	if err := rows.Err(); err != nil {
		if s.dialect.noTable(err) {
			err = nil
		}
		return false, err
	}
	return true, rows.Close()
}

func postgresRights(ctx context.Context, c *sql.Conn) (user string, before, after []string, err error) {
	var schema string
	const ask = "SELECT quote_ident(current_user), quote_ident(current_schema())"
	if err := c.QueryRowContext(ctx, ask).Scan(&user, &schema); err != nil {
		return "", nil, nil, err
	}
	grant := "GRANT " + needed + " ON snowfence_meta, snowfence_lease TO " + user
	return user, []string{"SET search_path = " + schema}, []string{grant}, nil
}

func mysqlRights(ctx context.Context, c *sql.Conn) (user string, before, after []string, err error) {
	var database string
	if err := c.QueryRowContext(ctx, "SELECT CURRENT_USER(), DATABASE()").Scan(&user, &database); err != nil {
		return "", nil, nil, err
	}
	at := strings.LastIndexByte(user, '@') // a user's name may have one, a host's none
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	user = quote(user[:max(at, 0)]) + "@" + quote(user[at+1:])
	database = "`" + strings.ReplaceAll(database, "`", "``") + "`"
	for _, table := range []string{"snowfence_meta", "snowfence_lease"} {
		after = append(after, "GRANT "+needed+" ON "+database+"."+table+" TO "+user)
	}
	return user, []string{"USE " + database}, after, nil
}
