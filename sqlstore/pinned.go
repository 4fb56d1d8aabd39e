package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/snowfence/snowfence/lease/store"
)

// pinned is the connection that stays open while there are leases. Reads and renewals use
// it when it is free: prepared statements halve their cost, and its own last write saves
// reading the file again.
//
// It begins no transaction, because a failed one may cost the connection.
type pinned struct {
	conn *sql.Conn

	mu         sync.Mutex           // held while it is in use
	statements map[string]*sql.Stmt // by their text; nil when the connection is closed
	durable    bool                 // its commits wait for the disk; nobody else can change that
}

// maxStatements bounds the statements kept. There are about 30: keys are asked for in
// powers of two, and lists have few conditions.
const maxStatements = 64

// records runs a query and the probe in one statement. ok is false when the connection is
// in use, and after each error: another connection then tells what is wrong.
func (p *pinned) records(ctx context.Context, query string, args []any) (out []store.Record, info serverInfo, ok bool) {
	if p == nil || !p.mu.TryLock() {
		return nil, info, false
	}
	defer p.mu.Unlock()
	statement, ok := p.prepared(ctx, "SELECT * FROM ("+query+") UNION ALL "+sqliteInfo)
	if !ok {
		return nil, info, false
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, info, false
	}
	out, info, err = scanned(rows)
	return out, info, err == nil
}

// exec writes with one statement. ok is false when the connection is in use or gone, and
// then nothing was done. Other errors are the write's, with an unknown outcome.
func (p *pinned) exec(ctx context.Context, query string, args []any) (res sql.Result, ok bool, err error) {
	if p == nil || !p.mu.TryLock() {
		return nil, false, nil
	}
	defer p.mu.Unlock()
	if !p.durable {
		if err := sqliteDurable(ctx, p.conn); err != nil {
			return nil, false, nil
		}
		p.durable = true
	}
	statement, ok := p.prepared(ctx, query)
	if !ok {
		return nil, false, nil
	}
	res, err = statement.ExecContext(ctx, args...)
	if errors.Is(err, sql.ErrConnDone) {
		return nil, false, nil
	}
	return res, true, err
}

// prepared returns a statement. mu is held.
func (p *pinned) prepared(ctx context.Context, query string) (statement *sql.Stmt, ok bool) {
	if statement, ok = p.statements[query]; ok {
		return statement, true
	}
	if p.statements == nil || len(p.statements) >= maxStatements {
		return nil, false
	}
	statement, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, false
	}
	p.statements[query] = statement
	return statement, true
}

// close gives the connection back to the pool.
func (p *pinned) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, statement := range p.statements {
		_ = statement.Close()
	}
	p.statements = nil
	_ = p.conn.Close()
}
