package sqlstore

import (
	"context"
	"errors"
)

// Finding is one setting or state of the database that the store depends
// on.
type Finding struct {
	Name   string // a setting or a state, by its name in the database
	Value  string
	Advice string // what it means and what to do; "" if it is right
}

// Report returns the version of the database, and the settings that decide
// which writes survive a crash or a failover. With settings that break the
// store's promise, all methods fail. For all others read the Advice.
func (s *Store) Report(ctx context.Context) (found []Finding, err error) {
	all := map[string]string{}
	_, err = s.use(ctx, toRead, func(ctx context.Context, c querier, _ view) (serverInfo, error) {
		found = nil
		for _, query := range s.dialect.settings {
			rows, err := c.QueryContext(ctx, query)
			if err != nil {
				return serverInfo{}, err
			}
			defer rows.Close()
			for rows.Next() {
				var f Finding
				if err := rows.Scan(&f.Name, &f.Value); err != nil {
					return serverInfo{}, err
				}
				found, all[f.Name] = append(found, f), f.Value
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return serverInfo{}, err
			}
		}
		return serverInfo{}, nil
	})
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		found[i].Advice = s.dialect.judge(f.Name, f.Value, all)
	}
	reply, err := s.ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, src := range s.dialect.sources.all {
		if s.closedSources&src.bit != 0 {
			found = append(found, Finding{"closed", src.name, "this user may not ask for it, so it goes " +
				"unnoticed: " + src.loss})
		}
	}
	return append(found, Finding{Name: "identity", Value: reply.Identity}), err
}
