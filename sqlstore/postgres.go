package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// PostgreSQL is the dialect of PostgreSQL 12 and later. The driver's errors
// must have an SQLState method, as in jackc/pgx (stdlib) and lib/pq. A
// pooler needs a setting in the URL: pgbouncer with pgx
// default_query_exec_mode=exec, with lib/pq binary_parameters=yes.
// Connections must not put savepoints around statements. With lib/pq, give
// the store a *sql.DB of its own: that gives out connections in which a
// program left a transaction open.
//
// A lease keeps one connection of the *sql.DB, so that its renewals wait
// for no transaction. A pool of one is refused. A statement without an
// answer fails after five seconds at most, and ends its connection. A read
// is then sent once more.
//
// The tables are made in the first schema of the search_path. All programs
// must see the same tables.
//
// Each use checks the server. The store refuses a server that is a standby,
// is read-only or runs with fsync=off. If synchronous_commit is off, the
// store's transactions turn it on.
//
// The store notices a failover by the timeline. Grants then start above all
// that the old server can have granted. The failover must stop the old
// primary before it promotes another: with two primaries, programs make the
// same IDs.
//
// The store notices a restored dump, whole or data alone, of one table or
// both: each row names the transaction that wrote it, and PostgreSQL knows
// the real one. Then, or if rows are missing when a program opens the
// database, the data gets another identity, and grants start above all
// earlier ones. An UPDATE by hand, an ALTER TABLE that rewrites the table,
// and pg_upgrade do the same. VACUUM, CLUSTER, REINDEX and a new tablespace
// do not.
//
// Where the functions of the cluster's number or of the log are closed, as
// managed databases have it, the identity does without them.
// docs/choose/stores.md says what goes unnoticed then. [SequenceTx] needs
// them.
//
// Only running programs that wrote since notice a copy of the data folder,
// or a base backup without recovery.signal. Nothing notices a namespace
// that a restored dump lacks and that is created again.
// docs/choose/stores.md has a table. Run "snowfence store restored" before
// programs start.
func PostgreSQL() Dialect {
	return Dialect{
		name: "postgres",
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT COLLATE "C" NOT NULL, node BIGINT NOT NULL, nonce TEXT COLLATE "C" NOT NULL, revision BIGINT NOT NULL, generation BIGINT NOT NULL,
				run_from BIGINT NOT NULL, until BIGINT NOT NULL, prev_until BIGINT NOT NULL,
				holder TEXT COLLATE "C" NOT NULL, label TEXT COLLATE "C" NOT NULL, veto TEXT NOT NULL, written_at BIGINT NOT NULL, data TEXT NOT NULL,
				xid XID NOT NULL DEFAULT '0', PRIMARY KEY (namespace, node))`,
			`CREATE TABLE IF NOT EXISTS snowfence_meta
				(name VARCHAR(80) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL, xid XID NOT NULL DEFAULT '0')`,
		},
		probe:        postgresProbe,
		reloadColumn: "(xmin <> xid)::int",
		share:        " FOR SHARE",
		changeColumn: postgresChanged,
		lock:         "SELECT FROM snowfence_meta ORDER BY name FOR UPDATE", // every insert changes the count of rows
		renewals:     postgresRenewed,
		settings:     []string{postgresSettings},
		errors:       postgresErrors,
		sources:      postgresSources,

		bind:      postgresBind,
		exclusive: postgresExclusive,
		open:      unless(postgresUnfit),
		swap:      postgresSwap,
		add:       addPostgres,
		stamp:     postgresStamp,
		judge:     postgresJudge,
		rights:    postgresRights,
	}
}

const postgresRefusals = `WHEN pg_is_in_recovery() THEN 'this server is a standby: connect to the primary (target_session_attrs=read-write with several hosts)'
		WHEN current_setting('transaction_read_only') = 'on' THEN 'the connection is read-only: connect to the primary, and leave default_transaction_read_only off'`

// postgresProbe reads a serverInfo. It takes the timeline that is written
// to: the control file still has the old one after a promotion. It reads
// the oids each time: a copied database (TEMPLATE) has others. The flushed
// part of the log survives a crash.
const postgresProbe = `SELECT '', 0::bigint, i.system, i.timeline, i.flushed, 0::bigint, 0::bigint, 0::bigint,
	i.system || ':' || coalesce(nullif(i.timeline, 0)::text, '-') || ':' || i.db || '.' || coalesce(m.tableoid, 0) || ':' || coalesce(m.value, 'no id'), coalesce(m.value, ''), CASE
		` + postgresRefusals + `
		WHEN current_setting('fsync') = 'off' THEN 'the server runs with fsync=off, and a power failure forgets grants: set fsync=on'
		ELSE '' END, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, '', coalesce((m.xmin <> m.xid)::int, 0)
	FROM (SELECT ` + postgresSystem + ` AS system, ` + postgresTimeline + ` AS timeline, ` + postgresFlushed + ` AS flushed,
		(SELECT oid FROM pg_database WHERE datname = current_database()) AS db) i
	LEFT JOIN snowfence_meta m ON m.name = 'id'`

const (
	postgresSystem   = `(SELECT system_identifier FROM pg_control_system())::text`
	postgresTimeline = `CASE WHEN pg_is_in_recovery() THEN 0
		ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END`
	postgresFlushed = `CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_flush_lsn() - '0/0')::bigint END`
)

// postgresSources are expressions with functions that some managed servers
// forbid, or that fail there.
var postgresSources = sources{
	all: []source{
		{
			noSystem, "the number of the cluster (pg_control_system)",
			[]string{postgresSystem},
			[]string{"'-'"},
			"that another cluster, with the same data, took this one's place",
		},
		{
			noLog, "timeline and position (pg_current_wal_insert_lsn, pg_current_wal_flush_lsn, pg_walfile_name)",
			[]string{postgresTimeline, postgresFlushed},
			[]string{"0::bigint", "0::bigint"},
			"a failover to a replica that lacks writes, or a snapshot that was put back, while no program runs",
		},
	},
	rights: `SELECT concat(has_function_privilege('pg_control_system()', 'EXECUTE'),
		has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE'), has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE'),
		has_function_privilege('pg_current_wal_flush_lsn()', 'EXECUTE'))`,
	codes: []string{"42501", "0A000", "42883", "55000"},
}

const (
	// postgresXID is the xmin of the rows that this transaction writes. A
	// savepoint would have its own.
	postgresXID = `(txid_current() & 4294967295)::text::xid`

	// postgresChanged is one statement, so the rows and their count are of
	// one moment.
	postgresChanged = `SELECT l.back + m.back > 0 OR l.rows <> coalesce(m.rows, -1), '', 0
		FROM (SELECT count(*) AS rows, count(*) FILTER (WHERE xmin <> xid) AS back FROM snowfence_lease) l,
		(SELECT max(CASE name WHEN 'rows' THEN value END)::bigint AS rows, count(*) FILTER (WHERE xmin <> xid) AS back FROM snowfence_meta) m`

	postgresItems = `w AS MATERIALIZED (SELECT * FROM json_to_recordset(?::json) AS w("Old" text, "Namespace" text, "Node" bigint, "Nonce" text, "Revision" bigint, "Generation" bigint,
		"From" bigint, "Until" bigint, "PrevUntil" bigint, "Holder" text, "Label" text, "Veto" text, "At" bigint, "Data" text))`

	// postgresUpdate skips rows that something else wrote: they would look
	// like ours afterwards.
	postgresUpdate = `u AS (UPDATE snowfence_lease l SET nonce = w."Nonce", revision = w."Revision", generation = w."Generation", run_from = w."From", until = w."Until", prev_until = w."PrevUntil",
			holder = w."Holder", label = w."Label", veto = w."Veto", written_at = w."At", data = w."Data", xid = ` + postgresXID + `
		FROM w WHERE w."Old" <> '' AND l.namespace = w."Namespace" AND l.node = w."Node" AND l.nonce = w."Old" AND l.xmin = l.xid RETURNING l.namespace, l.node, l.nonce)`

	// postgresInsert counts rows and remembers namespaces and sequences. A
	// namespace that is made again after its rows are gone gives the data
	// another identity.
	postgresInsert = `i AS (INSERT INTO snowfence_lease (` + columns + `, xid)
		SELECT "Namespace", "Node", "Nonce", "Revision", "Generation", "From", "Until", "PrevUntil", "Holder", "Label", "Veto", "At", "Data", ` + postgresXID + ` FROM w WHERE "Old" = ''
		ON CONFLICT DO NOTHING RETURNING namespace, node, nonce),
	n AS (INSERT INTO snowfence_meta (name, value, xid) SELECT 'namespace ' || namespace, '', ` + postgresXID + ` FROM i WHERE node IN (-1, -2)
		ON CONFLICT DO NOTHING RETURNING name),
	m AS (UPDATE snowfence_meta m SET xid = ` + postgresXID + `, value = CASE m.name WHEN 'rows' THEN (m.value::bigint + a.added)::text ELSE ? END
		FROM (SELECT (SELECT count(*) FROM i) AS added, (SELECT count(*) FROM i WHERE node IN (-1, -2)) > (SELECT count(*) FROM n) AS again) a
		WHERE m.xmin = m.xid AND (m.name = 'rows' AND a.added > 0 OR m.name = 'id' AND a.again))`

	// postgresLevel counts when the statement, which is one transaction,
	// commits.
	postgresLevel = `SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) ELSE '' END AS level`

	// postgresDone returns the keys that were written, as records, and the
	// serverInfo. synchronous_commit counts when the statement commits.
	postgresDone = `d AS (` + postgresLevel + `)
	SELECT k.namespace, k.node, k.nonce, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, '', '', '', 0::bigint, '', 0 FROM k
	UNION ALL SELECT p.* FROM (` + postgresProbe + `) p, d WHERE d.level IS NOT NULL`

	// Both swap a JSON array in the order of the keys, which is the order
	// of the locks. Renewals are updates alone.
	postgresRenew   = "WITH " + postgresItems + ", " + postgresUpdate + ", k AS (SELECT * FROM u), " + postgresDone
	postgresSwapAll = "WITH " + postgresItems + ", " + postgresUpdate + ", " + postgresInsert +
		", k AS (SELECT * FROM u UNION ALL SELECT * FROM i), " + postgresDone
)

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

func postgresSwap(ctx context.Context, c querier, v view, b *batch) (serverInfo, error) {
	items, err := itemsOf(b.writes)
	if err != nil {
		return serverInfo{}, err
	}
	query, args := postgresBind(postgresRenew, []any{items})
	if slices.ContainsFunc(b.writes, func(w store.Write) bool { return w.Old == "" }) {
		query, args = postgresBind(postgresSwapAll, []any{items, rand.Text()})
	}
	rs, info, err := records(c.QueryContext(ctx, v.open(query), args...))
	if err != nil {
		return serverInfo{}, err
	}
	b.confirm(rs)
	return info, nil
}

// postgresStamp writes the record once more: the row that it replaces names
// the savepoint, and so the new one does. So do the counts of rows, which
// were written with a new record.
func postgresStamp(ctx context.Context, c querier, r store.Record) error {
	var ok bool
	err := c.QueryRowContext(ctx, "UPDATE snowfence_lease SET xid = xmin WHERE namespace = $1 AND node = $2"+
		" AND nonce = $3 RETURNING xmin = xid", r.Namespace, r.Node, r.Nonce).Scan(&ok)
	if err == nil && !ok {
		err = errors.New("the connection puts a savepoint around each statement, so its rows look " +
			"like rows of a backup: turn these savepoints off")
	}
	if err == nil {
		_, err = c.ExecContext(ctx, "UPDATE snowfence_meta m SET xid = m.xmin FROM snowfence_lease l"+
			" WHERE l.namespace = $1 AND l.node = $2 AND m.xmin = l.xmin AND m.xmin <> m.xid", r.Namespace, r.Node)
	}
	return err
}

var postgresRenewed = []string{
	"UPDATE snowfence_lease SET xid = " + postgresXID + " WHERE xmin <> xid",
	"INSERT INTO snowfence_meta (name, value) SELECT 'namespace ' || namespace, ''" +
		" FROM snowfence_lease WHERE " + heads + " ON CONFLICT DO NOTHING",
	"INSERT INTO snowfence_meta (name, value) VALUES ('rows', '') ON CONFLICT DO NOTHING",
	"UPDATE snowfence_meta SET xid = " + postgresXID + ", value = CASE name" +
		" WHEN 'id' THEN ? WHEN 'rows' THEN (SELECT count(*) FROM snowfence_lease)::text ELSE value END",
}

// postgresExclusive takes a lock, because concurrent CREATE TABLE IF NOT
// EXISTS fails.
func postgresExclusive(ctx context.Context, c querier, do func() error) error {
	return transaction(ctx, c, do, "BEGIN", "SET LOCAL synchronous_commit = on",
		"SELECT pg_advisory_xact_lock(7598812366131129701)")
}

// postgresUnfit names settings that would fail later with less clear
// errors.
const postgresUnfit = `SELECT CASE WHEN current_setting('server_version_num')::int < 120000
	THEN 'the server has version ' || current_setting('server_version') || ', and 12 or later is needed'
	` + postgresRefusals + `
	WHEN current_schema() IS NULL THEN 'the search_path names no schema that exists: set it, or create the schema'
	WHEN EXISTS (SELECT FROM pg_class WHERE oid IN (to_regclass('snowfence_lease'), to_regclass('snowfence_meta')) AND relpersistence <> 'p')
	THEN 'a table is UNLOGGED, and a crash empties it: ALTER TABLE snowfence_lease SET LOGGED; ALTER TABLE snowfence_meta SET LOGGED'
	ELSE '' END`

const postgresRights = `SELECT quote_ident(current_user), 'SET search_path = ' || quote_ident(current_schema()),
	'GRANT SELECT, INSERT, UPDATE ON snowfence_meta, snowfence_lease TO ' || quote_ident(current_user)`

const postgresSettings = `SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'synchronous_commit', 'fsync', 'full_page_writes', 'synchronous_standby_names')
	UNION ALL SELECT 'schema', current_schema() UNION ALL SELECT 'rights', concat_ws(', ', CASE WHEN has_table_privilege('snowfence_lease', 'SELECT') THEN 'SELECT' END,
		CASE WHEN has_table_privilege('snowfence_lease', 'INSERT') THEN 'INSERT' END, CASE WHEN has_table_privilege('snowfence_lease', 'UPDATE') THEN 'UPDATE' END)
	UNION ALL SELECT 'replicas', count(*)::text FROM pg_stat_replication ORDER BY 1`

func postgresJudge(name, value string, all map[string]string) string {
	standbys := all["synchronous_standby_names"] != ""
	switch {
	case name == "synchronous_commit" && value == "off":
		return "it is on for the transactions of the store, so that a crash forgets no grant"
	case name == "synchronous_commit" && value == "local" && standbys:
		return "commits do not wait for the synchronous standbys: a failover may forget grants, which is " +
			"noticed and keeps everybody from new IDs for a ttl"
	case name == "synchronous_commit" && value == "remote_write" && standbys:
		return "commits do not wait until the standby's disk has them: when primary and standby fail at " +
			"once, grants may be forgotten; set it to on"
	case name == "full_page_writes" && value == "off":
		return "a power failure may damage pages, and so forget grants, unless the file system writes pages " +
			"whole (ZFS): set it to on elsewhere"
	case name == "replicas" && value != "0" && !standbys:
		return "the replicas are asynchronous: a failover may forget grants, which is noticed and keeps " +
			"everybody from new IDs for a ttl; set synchronous_standby_names to avoid it"
	}
	return ""
}
