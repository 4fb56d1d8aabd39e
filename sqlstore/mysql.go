package sqlstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// MySQL is the dialect of MySQL 8.0 and MariaDB 10.6, and later ones. Use
// go-sql-driver/mysql, or a driver with errors that begin with "Error
// 1062". Its settings (parseTime, clientFoundRows, interpolateParams,
// collation, …) do not matter. The tables are made in the connection's
// database, with keys compared byte by byte.
//
// A lease keeps one connection of the *sql.DB, so that its renewals wait
// for no transaction. A pool of one is refused. A statement without an
// answer fails after five seconds at most, and ends its connection. A read
// is then sent once more.
//
// Each statement also asks the server for its identity and whether it is
// safe. The store refuses a server that is read_only, or that does not sync
// commits to the disk: innodb_flush_log_at_trx_commit must be 1 (or
// MariaDB's 3), and sync_binlog 1 where there is a binary log. It also
// refuses READ UNCOMMITTED, autocommit=0 and completion_type=CHAIN.
//
// The store identifies a server by server_uuid (MariaDB: server_id, which
// differs between replicas). After a failover, grants start above all that
// the old server can have granted. The failover must stop the old server
// first: with two servers that accept writes, programs make the same IDs.
// In a Galera cluster and in group replication, connect all programs to the
// same member, because others may answer with old data. Over a proxy that
// sends writes to one server and reads to another, no lease gets a grant,
// and no sequence a number: a server carries out a write only if it also
// answered last, and no answer counts within five seconds of another
// server's.
//
// The store notices a restored dump, because its tables were made in
// another second, and a renamed table, also while programs run. A trigger
// on each table notices data that is put back into the same tables. In
// MariaDB the time of the identity's row shows it, too (snowfence_meta has
// system versioning, which dumps leave out). Without the right to make
// triggers (Report says so), the store does not notice a reload of only
// snowfence_lease, and in MySQL no reload of only data.
//
// Only running programs notice data that is put back in other ways, such as
// by an UPDATE, a flashback or an imported tablespace:
// docs/choose/stores.md has a table. Run "snowfence store restored" before
// programs start. The triggers were tested on MariaDB only.
func MySQL() Dialect {
	return Dialect{
		name: "mysql",
		schema: []string{
			"CREATE TABLE IF NOT EXISTS snowfence_lease (" +
				"namespace VARBINARY(64) NOT NULL, node BIGINT NOT NULL, nonce VARBINARY(64) NOT NULL, " +
				"revision BIGINT NOT NULL, generation BIGINT NOT NULL, " +
				"run_from BIGINT NOT NULL, until BIGINT NOT NULL, prev_until BIGINT NOT NULL, " +
				"holder VARBINARY(64) NOT NULL, label VARBINARY(255) NOT NULL, veto BLOB NOT NULL, " +
				"written_at BIGINT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (namespace, node)) ENGINE=InnoDB",
			metaTable + " ENGINE=InnoDB /*M!100600 WITH SYSTEM VERSIONING */",
		},
		optional:     mysqlTriggers,
		probe:        mysqlProbe,
		reloadColumn: "0",
		renewals:     []string{"UPDATE snowfence_meta SET value = ? WHERE name = 'id'"},
		share:        " LOCK IN SHARE MODE",
		settings: []string{
			"SHOW VARIABLES WHERE variable_name IN ('version', 'innodb_flush_log_at_trx_commit'," +
				" 'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'read_only'," +
				" 'super_read_only', 'binlog_format', 'transaction_isolation', 'tx_isolation', 'wsrep_on'," +
				" 'server_id', 'server_uuid')",
			"SELECT 'triggers', COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()" +
				" AND trigger_name IN ('snowfence_lease_reload', 'snowfence_meta_reload')",
		},
		errors: mysqlErrors,

		bind:      mysqlBind,
		exclusive: mysqlExclusive,
		open:      unless(mysqlUnfit),
		swap:      mysqlSwap,
		add:       addMySQL,
		judge:     mysqlJudge,
		rights:    mysqlRights,
	}
}

// mysqlTriggers make another identity when something other than a swap
// inserts a row of a lease or the row with the identity. No row has the
// name ”, so swaps do not wait for each other's lock of the identity.
var mysqlTriggers = []string{
	"CREATE TRIGGER snowfence_lease_reload AFTER INSERT ON snowfence_lease FOR EACH ROW UPDATE snowfence_meta" +
		" SET value = CONCAT(UUID()) WHERE name = IF(@snowfence_swap IS NULL, 'id', '')",
	"CREATE TRIGGER snowfence_meta_reload BEFORE INSERT ON snowfence_meta FOR EACH ROW" +
		" SET NEW.value = IF(NEW.name = 'id', CONCAT(UUID()), NEW.value)",
}

// mysqlProbe reads a serverInfo. Comments are for MySQL alone, which has a
// server_uuid, or for MariaDB alone, which knows when a row was written. A
// restored table was made in another second, which is the same number in
// every time zone but in the hour that comes twice, and not known while the
// table changes.
const mysqlProbe = "SELECT '', 0, '', 0, 0, " + mysqlMark + ", 0, 0," +
	" CONCAT(@@server_id /*!80000 , ':', @@server_uuid */, ':'," +
	" COALESCE(CONCAT(value /*M!100600 , ':', UNIX_TIMESTAMP(row_start) */), 'no id'), ':', t.made)," +
	" COALESCE(value, ''), CASE WHEN t.made IS NULL THEN 'another program is changing the table " +
	"snowfence_lease: try again' ELSE " + mysqlRefusal + " END," +
	" TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), '', 0 FROM (SELECT (SELECT" +
	" UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE()" +
	" AND table_name = 'snowfence_lease') AS made) t LEFT JOIN snowfence_meta ON name = 'id'"

// mysqlMark is a number of the server.
const mysqlMark = "CAST(CONV(LEFT(MD5(CONCAT(@@server_id /*!80000 , ':', @@server_uuid */)), 15), 16, 10) AS SIGNED)"

// mysqlOnly has a statement fail (1690, a sum that is too large) on any
// server but the one with the mark: a proxy may send reads elsewhere.
func mysqlOnly(query string, mark int64) string {
	return strings.Replace(query, "revision = ",
		fmt.Sprintf("revision = 0 * (9223372036854775807 + (%s <> %d)) + ", mysqlMark, mark), 1)
}

// mark is that of the server that answered last.
func (v view) mark(ctx context.Context, c querier) (int64, error) {
	if v.lastInfo.mark != 0 {
		return v.lastInfo.mark, nil
	}
	_, info, err := records(c.QueryContext(ctx, mysqlProbe))
	return info.mark, err
}

var errDivided = errors.New("one server takes the writes, and another one answers the reads: connect to the server " +
	"of the writes, not to a proxy that divides writes and reads; after a failover try again")

const mysqlRefusal = "CASE" +
	" WHEN CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') OR @@innodb_read_only THEN 'the server is read_only, as " +
	"replicas are, which do not know what was granted last: connect to the primary'" +
	" WHEN @@innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN" +
	"  'a crash forgets grants, because innodb_flush_log_at_trx_commit is not 1: SET GLOBAL " +
	"innodb_flush_log_at_trx_commit = 1, and in the configuration' WHEN @@log_bin = 1 AND @@sync_binlog <> 1 THEN" +
	"  'a power failure forgets grants, because there is a binary log and sync_binlog is not 1: SET GLOBAL " +
	"sync_binlog = 1, and in the configuration'" +
	" WHEN @@autocommit = 0 THEN 'the connection has autocommit=0, so that nothing is committed: leave autocommit on'" +
	" WHEN @@completion_type = 'CHAIN' THEN 'the connection has completion_type=CHAIN, so that the end of a " +
	"transaction begins another one: leave it at NO_CHAIN'" +
	" ELSE '' END"

// mysqlBind writes the parameters into the query, because the driver would
// prepare and close a statement for each. Texts are hexadecimal numbers,
// which mean the same in every sql_mode.
func mysqlBind(query string, args []any) (string, []any) {
	var b strings.Builder
	rest := query
	for _, arg := range args {
		var part string
		part, rest, _ = strings.Cut(rest, "?")
		b.WriteString(part)
		switch v := arg.(type) {
		case string:
			b.WriteString("x'" + hex.EncodeToString([]byte(v)) + "'")
		case int:
			b.WriteString(strconv.Itoa(v))
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		}
	}
	b.WriteString(rest)
	return b.String(), nil
}

// mysqlItems is a batch as a table.
const mysqlItems = "JSON_TABLE(CONVERT(? USING utf8mb4), '$[*]' COLUMNS (" +
	"o VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.Old', s VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.Namespace'," +
	" n BIGINT PATH '$.Node', c VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.Nonce'," +
	" r BIGINT PATH '$.Revision', g BIGINT PATH '$.Generation', f BIGINT PATH '$.From', u BIGINT PATH '$.Until'," +
	" p BIGINT PATH '$.PrevUntil'," +
	" h VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.Holder', l VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.Label'," +
	" v TEXT CHARACTER SET utf8mb4 PATH '$.Veto', t BIGINT PATH '$.At', d TEXT CHARACTER SET utf8mb4 PATH '$.Data')) w"

// The join goes through the array from its start, so locks have its order.
const mysqlUpdate = "UPDATE " + mysqlItems + " STRAIGHT_JOIN snowfence_lease l FORCE INDEX (PRIMARY)" +
	" ON l.namespace = CAST(w.s AS BINARY) AND l.node = w.n" +
	" SET l.nonce = w.c, l.revision = w.r, l.generation = w.g, l.run_from = w.f, l.until = w.u, l.prev_until = w.p," +
	" l.holder = w.h, l.label = w.l, l.veto = w.v, l.written_at = w.t, l.data = w.d WHERE l.nonce = CAST(w.o AS BINARY)"

const mysqlInsert = "INSERT INTO snowfence_lease (" + columns + ")" +
	" SELECT s, n, c, r, g, f, u, p, h, l, v, t, d FROM " + mysqlItems +
	" ON DUPLICATE KEY UPDATE node = snowfence_lease.node"

// mysqlSwap tells the triggers that its rows are a swap, and leaves the
// connection as it was: rows that the owner puts back later have to be
// noticed.
func mysqlSwap(ctx context.Context, c querier, v view, b *batch) (info serverInfo, err error) {
	if slices.ContainsFunc(b.writes, func(w store.Write) bool { return w.Old == "" }) {
		if _, err := c.ExecContext(ctx, "SET @snowfence_swap = 1"); err != nil {
			return info, err
		}
		defer func() {
			_, reset := c.ExecContext(ctx, "SET @snowfence_swap = NULL")
			err = errors.Join(err, reset)
		}()
	}
	if len(b.writes) == 1 && b.writes[0].Old != "" {
		mark, err := v.mark(ctx, c)
		if err != nil {
			return info, err
		}
		if b.errs[0], err = mysqlSwapOne(ctx, c, mark, b.writes[0]); err != nil {
			return info, err
		}
		if len(b.then) == 0 {
			_, info, err = records(c.QueryContext(ctx, mysqlProbe))
		} else {
			b.read, info, err = mysqlRead(ctx, c, b.then...)
			b.read = ordered(b.read, b.then)
		}
		return info, cmp.Or(behindWrite(c, err), info.answersAs(mark))
	}
	err = transaction(ctx, c, func() error { // all of it goes to one server
		done, err := mysqlBatch(ctx, c, mysqlUpdate, b.writes, false)
		if err != nil {
			return err
		}
		// This holds whether the connection counts found rows or changed
		// ones.
		if done == int64(len(b.writes)) {
			clear(b.errs)
			_, info, err = records(c.QueryContext(ctx, mysqlProbe))
			return cmp.Or(err, v.answers(info))
		}
		if _, err := mysqlBatch(ctx, c, mysqlInsert, b.writes, true); err != nil {
			return err
		}
		// Counts of affected rows depend on the connection's settings,
		// nonces do not.
		keys := make([]store.Key, len(b.writes))
		for i, w := range b.writes {
			keys[i] = w.New.Key
		}
		var rs []store.Record
		rs, info, err = mysqlRead(ctx, c, keys...)
		b.confirm(rs)
		return cmp.Or(err, v.answers(info))
	}, "START TRANSACTION")
	return info, err
}

// answersAs is an error if another server than that with the mark answers.
func (i serverInfo) answersAs(mark int64) error {
	if i.mark != mark {
		return errDivided
	}
	return nil
}

// answers is an error if another server answered the last read.
func (v view) answers(info serverInfo) error {
	if v.lastInfo.id != "" && info.id != v.lastInfo.id {
		return errDivided
	}
	return nil
}

// mysqlBatch runs a statement with the writes that are the first of their
// record, or with the others, and returns the number of affected rows.
func mysqlBatch(ctx context.Context, c querier, query string, writes []store.Write, first bool) (int64, error) {
	writes = slices.DeleteFunc(slices.Clone(writes), func(w store.Write) bool { return (w.Old == "") != first })
	if len(writes) == 0 {
		return 0, nil
	}
	items, err := itemsOf(writes)
	if err != nil {
		return 0, err
	}
	query, _ = mysqlBind(query, []any{items})
	res, err := c.ExecContext(ctx, query)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// mysqlRead reads records with the probe.
func mysqlRead(ctx context.Context, c querier, keys ...store.Key) ([]store.Record, serverInfo, error) {
	var args []any
	for _, k := range keys {
		args = append(args, k.Namespace, k.Node)
	}
	query, _ := mysqlBind("(SELECT "+columns+", 0 FROM snowfence_lease WHERE (namespace, node) IN ((?, ?)"+
		strings.Repeat(", (?, ?)", len(keys)-1)+")) UNION ALL "+mysqlProbe, args)
	return records(c.QueryContext(ctx, query))
}

// mysqlSwapOne needs no transaction. The nonce is new, so a row that is
// found is also changed.
func mysqlSwapOne(ctx context.Context, c querier, mark int64, w store.Write) (result, err error) {
	query, _ := mysqlBind(mysqlOnly(updateSQL, mark), append(values(w), w.Old))
	return outcome(c.ExecContext(ctx, query))
}

// mysqlExclusive uses no transaction, because CREATE TABLE would end it.
// Its wait is shorter than busyTimeout, so that the error names the cause.
// DDL is atomic here, and waits for open transactions for 30 s at most.
func mysqlExclusive(ctx context.Context, c querier, do func() error) (err error) {
	var got int
	if err := c.QueryRowContext(ctx, "SELECT COALESCE(GET_LOCK('snowfence_schema', 20), 0)").Scan(&got); err != nil {
		return err
	}
	if got != 1 {
		return errors.New("another process has been making the tables for 20 s: end it (SELECT " +
			"IS_USED_LOCK('snowfence_schema') names its connection)")
	}
	defer func() {
		_, unlock := c.ExecContext(ctx, "DO RELEASE_LOCK('snowfence_schema')")
		_, reset := c.ExecContext(ctx, "SET SESSION lock_wait_timeout = DEFAULT")
		err = errors.Join(err, unlock, reset)
	}()
	if _, err := c.ExecContext(ctx, "SET SESSION lock_wait_timeout = 30"); err != nil {
		return err
	}
	return do()
}

const mysqlEngine = "(SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE()" +
	" AND table_name = 'snowfence_lease')"

const mysqlUnfit = "SELECT CASE" +
	" WHEN DATABASE() IS NULL THEN 'the connection has no database: name one in the DSN (user@tcp(host)/database)'" +
	" WHEN 0 /*!80000 + 1 */ /*M!100600 + 1 */ = 0 THEN CONCAT('the server has version ', VERSION(), ', and " +
	"MySQL 8.0 or MariaDB 10.6 is needed, or a later one')" +
	" WHEN " + mysqlEngine + " <> 'InnoDB' THEN CONCAT('the table snowfence_lease has the engine ', " + mysqlEngine +
	", ', which forgets grants: ALTER TABLE snowfence_lease ENGINE=InnoDB')" +
	" WHEN /*!80000 @@transaction_isolation */ /*M!100600 @@tx_isolation */ = 'READ-UNCOMMITTED' THEN 'the " +
	"connection has transaction_isolation=READ-UNCOMMITTED, and reads what may never be committed: set " +
	"REPEATABLE-READ' ELSE " + mysqlRefusal + " END"

func mysqlJudge(name, value string, _ map[string]string) string {
	switch value = strings.ToLower(value); {
	case name == "innodb_doublewrite" && value == "off":
		return "a power failure may damage pages, and so forget grants, unless the file system writes pages " +
			"whole (ZFS): set it to on elsewhere"
	case name == "innodb_flush_method" && value == "nosync":
		return "nothing is written to the disk, and a power failure forgets grants: leave " +
			"innodb_flush_method at its default"
	case name == "binlog_format" && value == "statement":
		return "replicas run statements again, for which functions of \"snowfence sql\" make other IDs, and so " +
			"refuse: SET GLOBAL binlog_format = ROW, and in the configuration"
	case name == "wsrep_on" && value == "on":
		return "this is a Galera cluster: let all programs connect to the same member"
	case name == "log_bin" && value == "on":
		return "replicas that read the binary log are behind, unless replication is semi-synchronous: a " +
			"failover may forget grants, which is noticed and keeps everybody from new IDs for a ttl"
	case name == "triggers" && value != "2":
		return "this user cannot see all triggers that notice restored data: " +
			"let an administrator run: " + strings.Join(mysqlTriggers, "; ")
	}
	return ""
}

// mysqlRights minds that a user's name may have an @, and a host's none.
const mysqlRights = "SELECT u, CONCAT('USE ', d), CONCAT('GRANT SELECT, INSERT, UPDATE ON ', d," +
	" '.snowfence_meta TO ', u, '; GRANT SELECT, INSERT, UPDATE ON ', d," +
	" '.snowfence_lease TO ', u) FROM (SELECT CONCAT(QUOTE(LEFT(c, CHAR_LENGTH(c) - CHAR_LENGTH(h) - 1)), '@'," +
	" QUOTE(h)) AS u, CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`') AS d" +
	" FROM (SELECT CURRENT_USER() AS c, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS h) x) y"
