package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

// PostgreSQL is the dialect of PostgreSQL 12 and later. The driver may be any that reports SQLSTATE by a method of its errors, such as jackc/pgx (stdlib) and lib/pq.
// Connections may go through a pooler: nothing depends on a session, but prepared statements, as the driver makes them, must be ones the pooler can bear
// (for pgbouncer with pgx: default_query_exec_mode=exec in the URL).
//
// The tables are made in the first schema of the connection's search_path. Programs of one fleet must see the same ones.
//
// Each statement tells which server carried it out and on which timeline, and a server is refused that is a standby, read-only, or runs with fsync=off. Where
// synchronous_commit is off it is on for the transactions of the store. All this is looked at with each use, not only once.
//
// A failover is noticed by the timeline, and then grants start above everything that the old server can have granted, in case that the new one does not know of it. It
// is the failover's business to stop the old primary before it promotes another server: two primaries at once make the same IDs, whatever the store does.
// A restored dump is noticed as other tables. What cannot be seen is a copy of the data folder that is put back while no program runs, and not by
// recovery: then wait for the longest ttl in use (lease.Options.TTL and twice MaxSkew, 45 s unless set) before the first program starts.
func PostgreSQL() Dialect {
	return Dialect{
		name: "postgres",
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT COLLATE "C" NOT NULL, node BIGINT NOT NULL, nonce TEXT COLLATE "C" NOT NULL, revision BIGINT NOT NULL, generation BIGINT NOT NULL,
				run_from BIGINT NOT NULL, until BIGINT NOT NULL, prev_until BIGINT NOT NULL, skip_from BIGINT NOT NULL, skip_until BIGINT NOT NULL,
				holder TEXT COLLATE "C" NOT NULL, label TEXT COLLATE "C" NOT NULL, veto TEXT NOT NULL, written_at BIGINT NOT NULL, data TEXT NOT NULL,
				PRIMARY KEY (namespace, node))`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_until ON snowfence_lease (namespace, until, node)`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_vacant ON snowfence_lease (namespace, until, node) WHERE holder = ''`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_label ON snowfence_lease (namespace, label, node)`,
		},
		mark:      `SELECT d.oid || '.' || 'snowfence_lease'::regclass::oid FROM pg_database d WHERE d.datname = current_database()`,
		probe:     postgresProbe,
		now:       `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
		bind:      postgresBind,
		exclusive: postgresExclusive,
		open:      postgresOpen,
		swap:      postgresSwap,
		report:    postgresReport,
		busy:      postgresBusy,
		noTable:   func(err error) bool { return sqlState(err) == "42P01" },
		advice:    postgresAdvice,
	}
}

// postgresProbe is an answer. The timeline is the one that is written to now; the control file still has the old one for a while after a promotion.
const postgresProbe = `SELECT '', 0::bigint, i.system, i.timeline, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
	i.system || ':' || i.timeline || ':' || coalesce((SELECT value FROM snowfence_meta WHERE name = 'id'), 'no id'), '', CASE
		WHEN pg_is_in_recovery() THEN 'this server is a standby, and does not know what was granted last: connect to the primary (target_session_attrs=read-write with several hosts)'
		WHEN current_setting('transaction_read_only') = 'on' THEN 'the connection is read-only: connect to the primary, and leave default_transaction_read_only off'
		WHEN current_setting('fsync') = 'off' THEN 'the server runs with fsync=off, and a power failure forgets grants: set fsync=on'
		ELSE '' END, 0::bigint, ''
	FROM (SELECT (SELECT system_identifier FROM pg_control_system())::text AS system, CASE WHEN pg_is_in_recovery() THEN 0
		ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END AS timeline) i`

// postgresBatch swaps what a JSON array says and returns the keys that were done, as records, and the answer. It is one statement and so one transaction;
// synchronous_commit counts when that commits. The order by key is that of the locks.
const postgresBatch = `WITH w AS MATERIALIZED (SELECT * FROM json_to_recordset(?::json) AS w("O" text, "S" text, "N" bigint, "C" text, "R" bigint, "G" bigint,
		"F" bigint, "U" bigint, "P" bigint, "X" bigint, "Y" bigint, "H" text, "L" text, "V" text, "T" bigint, "D" text)),
	u AS (UPDATE snowfence_lease l SET nonce = w."C", revision = w."R", generation = w."G", run_from = w."F", until = w."U", prev_until = w."P",
			skip_from = w."X", skip_until = w."Y", holder = w."H", label = w."L", veto = w."V", written_at = w."T", data = w."D"
		FROM w WHERE w."O" <> '' AND l.namespace = w."S" AND l.node = w."N" AND l.nonce = w."O" RETURNING l.namespace, l.node),
	i AS (INSERT INTO snowfence_lease (` + columns + `)
		SELECT "S", "N", "C", "R", "G", "F", "U", "P", "X", "Y", "H", "L", "V", "T", "D" FROM w WHERE "O" = ''
		ON CONFLICT DO NOTHING RETURNING namespace, node),
	d AS (SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) ELSE '' END AS level),
	k AS (SELECT * FROM u UNION ALL SELECT * FROM i)
	SELECT k.namespace, k.node, '', 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, '', '', '', 0::bigint, '' FROM k
	UNION ALL SELECT p.* FROM (` + postgresProbe + `) p, d WHERE d.level IS NOT NULL`

func postgresBind(query string, args []any) (string, []any) {
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String(), args
}

func postgresSwap(ctx context.Context, c *sql.Conn, writes []lease.Write, errs []error) (answer, error) {
	items, err := batch(writes)
	if err != nil {
		return answer{}, err
	}
	query, args := postgresBind(postgresBatch, []any{items})
	rs, word, err := records(ctx, c, query, args)
	if err != nil {
		return answer{}, err
	}
	done := make(map[lease.Key]bool, len(rs))
	for _, r := range rs {
		done[r.Key] = true
	}
	for i, w := range writes {
		if errs[i] = lease.ErrLost; done[w.New.Key] {
			errs[i] = nil
		}
	}
	return word, nil
}

// postgresExclusive uses a lock of the transaction, since CREATE TABLE IF NOT EXISTS fails where several do it at once. Its number is only that of this program.
func postgresExclusive(ctx context.Context, c *sql.Conn, do func() error) error {
	return transaction(ctx, c, "BEGIN", func() error {
		if _, err := c.ExecContext(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7598812366131129701)"); err != nil {
			return err
		}
		return do()
	})
}

// postgresOpen refuses what would fail later with errors that say less.
func postgresOpen(ctx context.Context, c *sql.Conn) (*file, error) {
	var number int
	var name, refusal string
	err := c.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'), CASE
		WHEN pg_is_in_recovery() THEN 'this server is a standby: connect to the primary (target_session_attrs=read-write with several hosts)'
		WHEN current_setting('transaction_read_only') = 'on' THEN 'the connection is read-only: connect to the primary, and leave default_transaction_read_only off'
		WHEN current_schema() IS NULL THEN 'the search_path names no schema that exists: set it, or create the schema'
		ELSE '' END`).Scan(&number, &name, &refusal)
	switch {
	case err != nil:
		return nil, err
	case number < 120000:
		return nil, fmt.Errorf("the server has version %s, and 12 or later is needed", name)
	case refusal != "":
		return nil, errors.New(refusal)
	}
	return nil, nil
}

func postgresReport(ctx context.Context, c *sql.Conn) ([]Finding, error) {
	const query = `SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'synchronous_commit', 'fsync', 'full_page_writes', 'synchronous_standby_names')
		UNION ALL SELECT 'schema', current_schema() UNION ALL SELECT 'replicas', count(*)::text FROM pg_stat_replication ORDER BY 1`
	var standbys string
	if err := c.QueryRowContext(ctx, "SELECT current_setting('synchronous_standby_names')").Scan(&standbys); err != nil {
		return nil, err
	}
	return findings(ctx, c, query, func(name, value string) string {
		switch {
		case name == "synchronous_commit" && value == "off":
			return "it is on for the transactions of the store, so that a crash forgets no grant"
		case name == "synchronous_commit" && value == "local" && standbys != "":
			return "commits do not wait for the synchronous standbys: a failover may forget grants, which is noticed and keeps everybody from new IDs for a ttl"
		case name == "synchronous_commit" && value == "remote_write" && standbys != "":
			return "commits do not wait until the standby's disk has them: when primary and standby fail at once, grants may be forgotten; set it to on"
		case name == "full_page_writes" && value == "off":
			return "a power failure may damage pages, and so forget grants, unless the file system writes pages whole (ZFS): set it to on elsewhere"
		case name == "replicas" && value != "0" && standbys == "":
			return "the replicas are asynchronous: a failover may forget grants, which is noticed and keeps everybody from new IDs for a ttl; set synchronous_standby_names to avoid it"
		}
		return ""
	})
}
