package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// MySQL is the dialect of MySQL 8.0 and MariaDB 10.6, and later ones. Use
// go-sql-driver/mysql, or a driver whose errors begin with "Error 1062". Its settings
// (parseTime, clientFoundRows, interpolateParams, collation, …) do not matter. The tables
// are made in the connection's database, with keys compared byte by byte.
//
// Each statement also asks the server who it is and whether it is safe. It is refused while
// it is read_only, or commits are not on the disk: innodb_flush_log_at_trx_commit must be 1
// (or MariaDB's 3), and sync_binlog 1 where there is a binary log. READ UNCOMMITTED and
// autocommit=0 are refused too.
//
// A server is known by server_uuid (MariaDB: server_id, which differs between replicas).
// After a failover, grants start above all that the old server can have granted. The
// failover must stop the old server first: two that are written at once make the same IDs.
// In a Galera cluster and in group replication, connect all programs to the same member,
// because others may answer with old data.
//
// A restored dump is noticed, because the tables were made in another second. Data that is
// put back into the same tables is noticed by a trigger on each table, and in MariaDB also
// by the time of the identity's row (snowfence_meta has system versioning, which dumps
// leave out). Without the right to make triggers (Report says so), a reload of
// snowfence_lease alone is not noticed, and in MySQL no reload of data alone.
//
// Without a running program, two things cannot be seen: a copy of the data folder that is
// put back with the dates of its files, and deleted rows of a namespace that is made again.
// Then wait for the longest ttl and twice the largest skew of the namespace (45 s unless
// set) before the first program starts. The triggers were tested on MariaDB only.
func MySQL() Dialect {
	return Dialect{
		name: "mysql",
		schema: []string{
			"CREATE TABLE IF NOT EXISTS snowfence_lease (" +
				"namespace VARBINARY(64) NOT NULL, node BIGINT NOT NULL, nonce VARBINARY(64) NOT NULL, " +
				"revision BIGINT NOT NULL, generation BIGINT NOT NULL, " +
				"run_from BIGINT NOT NULL, until BIGINT NOT NULL, prev_until BIGINT NOT NULL, " +
				"skip_from BIGINT NOT NULL, skip_until BIGINT NOT NULL, " +
				"holder VARBINARY(64) NOT NULL, label VARBINARY(255) NOT NULL, veto BLOB NOT NULL, " +
				"written_at BIGINT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (namespace, node)) ENGINE=InnoDB",
		},
		versioned: " /*M!100600 WITH SYSTEM VERSIONING */",
		optional:  mysqlTriggers,
		mark: "SELECT CONCAT(MAX(create_time), '') FROM information_schema.tables" +
			" WHERE table_schema = DATABASE() AND table_name = 'snowfence_lease'",
		probe:     mysqlProbe,
		now:       "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		reloaded:  "0",
		bind:      mysqlBind,
		exclusive: mysqlExclusive,
		open:      mysqlOpen,
		swap:      mysqlSwap,
		add:       addMySQL,
		tx:        txDialect{share: " LOCK IN SHARE MODE", add: addMySQL, swap: mysqlSwapTx},
		report:    mysqlReport,
		busy:      mysqlBusy,
		noTable:   func(err error) bool { return mysqlCode(err) == 1146 },
		denied:    func(err error) bool { return slices.Contains([]int{1044, 1142, 1143}, mysqlCode(err)) },
		rights:    mysqlRights,
		advice:    mysqlAdvice,
	}
}

// mysqlTriggers make another identity when something other than a swap inserts a row of a
// lease or the row with the identity. The text after the @ is the mark of the tables. No
// row has the name ”, so swaps do not wait for each other's lock of the identity.
var mysqlTriggers = []string{
	"CREATE TRIGGER snowfence_lease_reload AFTER INSERT ON snowfence_lease FOR EACH ROW UPDATE snowfence_meta" +
		" SET value = CONCAT(UUID(), '@', SUBSTRING_INDEX(value, '@', -1)) WHERE name =" +
		" IF(@snowfence_swap IS NULL, 'id', '')",
	"CREATE TRIGGER snowfence_meta_reload BEFORE INSERT ON snowfence_meta FOR EACH ROW" +
		" SET NEW.value = IF(NEW.name = 'id', CONCAT(UUID(), '@', SUBSTRING_INDEX(NEW.value, '@', -1)), NEW.value)",
}

// mysqlOwn tells the triggers that this connection's inserts are swaps.
func mysqlOwn(ctx context.Context, c querier, writes []store.Write) error {
	if !slices.ContainsFunc(writes, func(w store.Write) bool { return w.Old == "" }) {
		return nil
	}
	_, err := c.ExecContext(ctx, "SET @snowfence_swap = 1")
	return err
}

// mysqlProbe reads a serverInfo. Comments are for MySQL alone, which has a server_uuid, or
// for MariaDB alone, which knows when a row was written.
const mysqlProbe = "SELECT '', 0, '', 0, 0, 0, 0, 0, 0, 0, " + mysqlID + ", '', " + mysqlRefusal + ", 0, '', 0"

const mysqlID = "CONCAT(@@server_id /*!80000 , ':', @@server_uuid */, ':', COALESCE((SELECT CONCAT(value" +
	" /*M!100600 , ':', UNIX_TIMESTAMP(row_start) */) FROM snowfence_meta WHERE name = 'id'), 'no id'))"

const mysqlRefusal = "CASE" +
	" WHEN CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') THEN 'the server is read_only, as replicas are, which " +
	"do not know what was granted last: connect to the primary'" +
	" WHEN @@innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN" +
	"  'a crash forgets grants, because innodb_flush_log_at_trx_commit is not 1: SET GLOBAL " +
	"innodb_flush_log_at_trx_commit = 1, and in the configuration'" +
	" WHEN @@log_bin = 1 AND @@sync_binlog <> 1 THEN" +
	"  'a power failure forgets grants, because there is a binary log and sync_binlog is not 1: SET GLOBAL " +
	"sync_binlog = 1, and in the configuration'" +
	" WHEN @@autocommit = 0 THEN 'the connection has autocommit=0, so that nothing is committed: leave autocommit on'" +
	" ELSE '' END"

// mysqlBind writes the parameters into the query, because the driver would prepare and
// close a statement for each. Texts are hexadecimal numbers, which mean the same in every
// sql_mode.
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
	"o VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.O', s VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.S'," +
	" n BIGINT PATH '$.N', c VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.C'," +
	" r BIGINT PATH '$.R', g BIGINT PATH '$.G', f BIGINT PATH '$.F', u BIGINT PATH '$.U'," +
	" p BIGINT PATH '$.P', x BIGINT PATH '$.X', y BIGINT PATH '$.Y'," +
	" h VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.H', l VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.L'," +
	" v TEXT CHARACTER SET utf8mb4 PATH '$.V', t BIGINT PATH '$.T', d TEXT CHARACTER SET utf8mb4 PATH '$.D')) w"

// The join goes through the array from its start, so locks have its order.
const mysqlUpdate = "UPDATE " + mysqlItems + " STRAIGHT_JOIN snowfence_lease l FORCE INDEX (PRIMARY)" +
	" ON l.namespace = CAST(w.s AS BINARY) AND l.node = w.n" +
	" SET l.nonce = w.c, l.revision = w.r, l.generation = w.g, l.run_from = w.f, l.until = w.u," +
	" l.prev_until = w.p, l.skip_from = w.x, l.skip_until = w.y," +
	" l.holder = w.h, l.label = w.l, l.veto = w.v, l.written_at = w.t, l.data = w.d" +
	" WHERE l.nonce = CAST(w.o AS BINARY)"

const mysqlInsert = "INSERT INTO snowfence_lease (" + columns + ")" +
	" SELECT s, n, c, r, g, f, u, p, x, y, h, l, v, t, d FROM " + mysqlItems +
	" ON DUPLICATE KEY UPDATE node = snowfence_lease.node"

func mysqlSwap(
	ctx context.Context, c *sql.Conn, _ view, writes []store.Write, errs []error,
) (info serverInfo, err error) {
	if err := mysqlOwn(ctx, c, writes); err != nil {
		return info, err
	}
	if len(writes) == 1 {
		if errs[0], err = mysqlSwapOne(ctx, c, writes[0]); err != nil {
			return info, err
		}
		_, info, err = records(ctx, c, mysqlProbe, nil)
		return info, err
	}
	return info, transaction(ctx, c, "START TRANSACTION", func() error {
		done, err := mysqlBatch(ctx, c, mysqlUpdate, writes, false)
		if err != nil {
			return err
		}
		// This holds whether the connection counts found rows or changed ones.
		if done == int64(len(writes)) {
			clear(errs)
			_, info, err = records(ctx, c, mysqlProbe, nil)
			return err
		}
		if _, err := mysqlBatch(ctx, c, mysqlInsert, writes, true); err != nil {
			return err
		}
		info, err = mysqlDone(ctx, c, writes, errs)
		return err
	})
}

// mysqlBatch runs a statement with the writes that are the first of their record, or with
// the others, and returns how many rows it says were affected.
func mysqlBatch(ctx context.Context, c *sql.Conn, query string, writes []store.Write, first bool) (int64, error) {
	writes = slices.DeleteFunc(slices.Clone(writes), func(w store.Write) bool { return (w.Old == "") != first })
	if len(writes) == 0 {
		return 0, nil
	}
	items, err := batch(writes)
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

// mysqlDone finds out by the nonces which writes were done: counts of affected rows depend
// on the connection's settings.
func mysqlDone(ctx context.Context, c *sql.Conn, writes []store.Write, errs []error) (serverInfo, error) {
	var b strings.Builder
	b.WriteString("(SELECT " + columns + ", 0 FROM snowfence_lease WHERE (namespace, node) IN (")
	var args []any
	for i, w := range writes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(?, ?)")
		args = append(args, w.New.Namespace, w.New.Node)
	}
	query, _ := mysqlBind(b.String()+")) UNION ALL "+mysqlProbe, args)
	rs, info, err := records(ctx, c, query, nil)
	if err != nil {
		return info, err
	}
	nonces := make(map[store.Key]string, len(rs))
	for _, r := range rs {
		nonces[r.Key] = r.Nonce
	}
	for i, w := range writes {
		if errs[i] = nil; nonces[w.New.Key] != w.New.Nonce {
			errs[i] = store.ErrLost
		}
	}
	return info, nil
}

// mysqlSwapOne needs no transaction. The nonce is new, so a row that is found is also
// changed.
func mysqlSwapOne(ctx context.Context, c querier, w store.Write) (result, err error) {
	query, args := insertSQL, values(w)
	if w.Old != "" {
		query, args = updateSQL, append(args, w.Old)
	}
	query, _ = mysqlBind(query, args)
	res, err := c.ExecContext(ctx, query)
	if w.Old == "" && mysqlCode(err) == 1062 {
		return store.ErrLost, nil // there is a record
	}
	return outcome(res, err)
}

// mysqlSwapTx leaves the connection as it was: what its owner puts back later has to be noticed.
func mysqlSwapTx(
	ctx context.Context, c querier, _ view, writes []store.Write, errs []error,
) (info serverInfo, err error) {
	if err := mysqlOwn(ctx, c, writes); err != nil {
		return info, err
	}
	if errs[0], err = mysqlSwapOne(ctx, c, writes[0]); err != nil {
		return info, err
	}
	if _, err := c.ExecContext(ctx, "SET @snowfence_swap = NULL"); err != nil {
		return info, err
	}
	_, info, err = records(ctx, c, mysqlProbe, nil)
	return info, err
}

// mysqlExclusive uses no transaction, because CREATE TABLE would end it. DDL is atomic
// here.
func mysqlExclusive(ctx context.Context, c *sql.Conn, do func() error) (err error) {
	var got int
	if err := c.QueryRowContext(ctx, "SELECT COALESCE(GET_LOCK('snowfence_schema', 30), 0)").Scan(&got); err != nil {
		return err
	}
	if got != 1 {
		return errors.New("another process has been making the tables for 30 s: end it (SELECT " +
			"IS_USED_LOCK('snowfence_schema') names its connection)")
	}
	defer func() {
		_, unlock := c.ExecContext(ctx, "DO RELEASE_LOCK('snowfence_schema')")
		err = errors.Join(err, unlock)
	}()
	return do()
}

func mysqlOpen(ctx context.Context, c *sql.Conn) (*file, error) {
	var version string
	var schema, engine sql.NullString
	err := c.QueryRowContext(ctx, "SELECT VERSION(), DATABASE(), (SELECT engine FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name = 'snowfence_lease')").Scan(&version, &schema, &engine)
	switch {
	case err != nil:
		return nil, err
	case !schema.Valid:
		return nil, errors.New("the connection has no database: name one in the DSN (user@tcp(host)/database)")
	case !newEnough(version):
		return nil, fmt.Errorf("the server has version %s, and MySQL 8.0 or MariaDB 10.6 is needed, or a later one",
			version)
	case engine.Valid && engine.String != "InnoDB":
		return nil, fmt.Errorf("the table snowfence_lease has the engine %s, which forgets grants: ALTER TABLE "+
			"snowfence_lease ENGINE=InnoDB", engine.String)
	}
	var isolation, value string
	const ask = "SHOW VARIABLES WHERE variable_name IN ('transaction_isolation', 'tx_isolation')"
	if err := c.QueryRowContext(ctx, ask).Scan(&isolation, &value); err != nil {
		return nil, err
	}
	if value == "READ-UNCOMMITTED" {
		return nil, fmt.Errorf("the connection has %s=%s, and reads what may never be committed: set "+
			"REPEATABLE-READ", isolation, value)
	}
	return nil, nil
}

func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	if strings.Contains(version, "MariaDB") {
		return major > 10 || major == 10 && minor >= 6
	}
	return major >= 8
}

func mysqlReport(ctx context.Context, c *sql.Conn) ([]Finding, error) {
	triggers := Finding{Name: "triggers"}
	const count = "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()" +
		" AND trigger_name IN ('snowfence_lease_reload', 'snowfence_meta_reload')"
	if err := c.QueryRowContext(ctx, count).Scan(&triggers.Value); err != nil {
		return nil, err
	}
	if triggers.Value != "2" {
		triggers.Advice = "this user cannot see all triggers that notice restored data: " +
			"let an administrator run: " + strings.Join(mysqlTriggers, "; ")
	}
	const query = "SHOW VARIABLES WHERE variable_name IN ('version', 'innodb_flush_log_at_trx_commit'," +
		" 'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'read_only', 'super_read_only'," +
		" 'transaction_isolation', 'tx_isolation', 'wsrep_on', 'server_id', 'server_uuid')"
	found, err := findings(ctx, c, query, func(name, value string) string {
		switch {
		case name == "innodb_doublewrite" && strings.EqualFold(value, "off"):
			return "a power failure may damage pages, and so forget grants, unless the file system writes pages " +
				"whole (ZFS): set it to on elsewhere"
		case name == "innodb_flush_method" && strings.EqualFold(value, "nosync"):
			return "nothing is written to the disk, and a power failure forgets grants: leave " +
				"innodb_flush_method at its default"
		case name == "wsrep_on" && strings.EqualFold(value, "on"):
			return "this is a Galera cluster: let all programs connect to the same member"
		case name == "log_bin" && strings.EqualFold(value, "on"):
			return "replicas that read the binary log are behind, unless replication is semi-synchronous: a " +
				"failover may forget grants, which is noticed and keeps everybody from new IDs for a ttl"
		}
		return ""
	})
	return append(found, triggers), err
}
