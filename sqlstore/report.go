package sqlstore

import (
	"context"
	"database/sql"
)

// Finding is one thing that a store depends on, as it was found in the database.
type Finding struct {
	Name   string // a setting or a state, by the name that the database has for it
	Value  string
	Advice string // what follows from it and what to do; "" where it is as it should be
}

// Report says what the store found in its database: the version, and the settings that
// decide what survives a crash or a failover. Settings with which the store cannot keep
// its promise are errors of all methods, this one too; findings with an Advice are the
// ones to know about.
func (s *Store) Report(ctx context.Context) (found []Finding, err error) {
	err = s.use(ctx, toRead, func(c *sql.Conn) (answer, error) {
		found, err = s.dialect.report(ctx, c)
		return answer{}, err
	})
	if err != nil {
		return nil, err
	}
	id, err := s.Identity(ctx, "")
	return append(found, Finding{Name: "identity", Value: id}), err
}

// findings runs a query for names and values, and has judge say what follows from each.
func findings(
	ctx context.Context, c *sql.Conn, query string, judge func(name, value string) string,
) ([]Finding, error) {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []Finding
	for rows.Next() {
		var f Finding
		if err := rows.Scan(&f.Name, &f.Value); err != nil {
			return nil, err
		}
		f.Advice = judge(f.Name, f.Value)
		found = append(found, f)
	}
	return found, rows.Err()
}
