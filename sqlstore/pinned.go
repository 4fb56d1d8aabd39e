package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/snowfence/snowfence/lease"
)

// pinned is the connection that stays open while there are leases. Reads and renewals use it while
// nobody else does: a statement that is prepared once costs half of one that is prepared each time,
// and a connection whose own writes are the last ones need not read the file again.
//
// It never begins a transaction. A failed one may cost the connection.
type pinned struct {
	conn *sql.Conn

	mu         sync.Mutex           // held while it is in use
	statements map[string]*sql.Stmt // by their text; nil when the connection is closed
	durable    bool                 // its commits wait for the disk; nobody else can change that
}

// maxStatements bounds how many statements are kept. There are about 30: keys are asked for in
// powers of two, and lists have few conditions.
const maxStatements = 64

// records runs a query for records, and the probe in the same statement. It is not ok where the
// connection is in use, and after each error: then another connection tells what is wrong.
func (p *pinned) records(ctx context.Context, query string, args []any) (out []lease.Record, word answer, ok bool) {
	if p == nil || !p.mu.TryLock() {
		return nil, word, false
	}
	defer p.mu.Unlock()
	statement, ok := p.prepared(ctx, "SELECT * FROM ("+query+") UNION ALL "+sqliteAnswer)
	if !ok {
		return nil, word, false
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, word, false
	}
	out, word, err = scanned(rows)
	return out, word, err == nil
}

// exec writes with one statement. It is not ok where the connection is in use or gone: then nothing
// was done. Any other error is that of the write, whose outcome may be unknown.
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
