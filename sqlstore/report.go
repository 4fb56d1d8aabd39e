package sqlstore

import (
	"context"
	"database/sql"
)

// Finding is one thing that a store depends on, as found in the database.
type Finding struct {
	Name   string // a setting or a state, by the name that the database has for it
	Value  string
	Advice string // what follows from it and what to do; "" where it is as it should be
}

// Report says what the store found: the version, and the settings that decide what survives
// a crash or a failover. Settings that break the store's promise are errors of all methods;
// findings with an Advice are for you to judge.
func (s *Store) Report(ctx context.Context) (found []Finding, err error) {
	err = s.use(ctx, toRead, func(c *sql.Conn) (serverInfo, error) {
		found, err = s.dialect.report(ctx, c)
		return serverInfo{}, err
	})
	if err != nil {
		return nil, err
	}
	id, err := s.Identity(ctx, "")
	return append(found, Finding{Name: "identity", Value: id}), err
}

// findings runs a query for names and values, and lets judge advise on each.
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
