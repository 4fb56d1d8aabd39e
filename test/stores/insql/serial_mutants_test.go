package insql

import (
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// Terms of the text for PostgreSQL.
var serialPostgresMutants = []mutant{
	{"greatest(l.run_from, low), run_from = greatest(l.run_from, low) + 1", "l.run_from, run_from = l.run_from + 1", "confirmed"},
	{" AND (l.generation = gen OR at <> -2)", "", "changed meanwhile"},
	{" AND l.xmin = l.xid AND (l.gen", " AND (l.gen", "put back"},
	{"l.xmin <> l.xid INTO d", "false INTO d", "put back"},
	{"back OR m.xmin <> m.xid", "back", "put back"},
	{"AND l.xid <> writer;", "AND false;", "savepoints"},
	{"SET xid = writer WHERE l.namespace", "SET xid = '0' WHERE l.namespace", "savepoints"},
	{"+ 1)::text, xid = writer", ")::text, xid = writer", "savepoints"},
	{"+ 1)::text, xid = writer", "+ 1)::text, xid = m.xid", "savepoints"},
	{"AND l.generation = gen FOR SHARE", "AND l.generation = gen", "changed meanwhile"},
	{"AND l.generation = gen FOR SHARE", "FOR SHARE", "changed meanwhile"},
	{"OR d ? 'deleted'", "", "refusals"},
	{"'{to,from}'", "'{to}'", "refusals"},
	{"'{to,from}'", "'{from}'", "refusals"},
	{"ELSIF d->>'mode' <> 'strict'", "ELSIF false", "refusals"},
	{"{mode,start,", "{news,mode,start,", "refusals"},
	{"ELSIF d->>'after_failover' <> '-1' AND NOT", "ELSIF NOT", "another server"},
	{"AND NOT (SELECT bool_and(coalesce(was IN (id, '-'), false))", "AND NOT (SELECT true", "another server"},
	{"coalesce(was IN (id, '-'), false)", "was IN (id, '-')", "another server"},
	{"IF at < (d->>'open')::bigint THEN", "IF false THEN", "confirmed"},
	{"ELSIF at <= (d->>'through')::bigint THEN", "ELSIF false THEN", "confirmed"},
	{"ELSIF at <= (d->>'through')::bigint THEN", "ELSE", "confirmed"},
	{"ELSIF ord >= most THEN", "ELSIF ord > most THEN", "courses"},
	{"most := div(", "most := -div(-", "courses"},
	{"PERFORM set_config('timezone', d->>'zone', true);", "", "zones"},
	{"day := clock_timestamp();", "day := clock_timestamp() AT TIME ZONE (d->>'zone');", "zones"},
	{"IF current_setting('synchronous_commit') = 'off' THEN", "IF false THEN", "settings"},
	{"VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp", "VOLATILE", "rights"},
	{"SECURITY DEFINER SET search_path = pg_catalog, pg_temp", "SECURITY DEFINER", "rights"},
	{"REVOKE ALL ON FUNCTION \"public\".snowfence_take(text), ", "REVOKE ALL ON FUNCTION ", "rights"},
	{"\"public\".snowfence_serial_text(text),", "", "rights"},
	{"has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')", "true", "rights"},
	{"year / 100 <> 20", "false", "patterns"},
	{"begun / 100 <> 20", "false", "patterns"},
	{"ended / 100 <> 20", "false", "patterns"},
	{"(1 + i % 2)", "(2 - i % 2)", "patterns"},
	{"'IYYYIW'", "'YYYYIW'", "patterns"},
	{"+ (starts > 1)::int", "+ 1", "patterns"},
	{"greatest(width, length(number::text))", "width", "patterns"},
}

// Terms of the text for MariaDB.
var serialMariaDBMutants = []mutant{
	{"l.prev_until = GREATEST(l.run_from, low)", "l.prev_until = l.run_from", "confirmed"},
	{" AND (l.generation = gen OR at <> -2)", "", "changed meanwhile"},
	{"    IF now_gen <> gen THEN", "    IF FALSE THEN", "changed meanwhile"},
	{"AND l.node = -2 LOCK IN SHARE MODE;", "AND l.node = -2;", "changed meanwhile"},
	{"SET @snowfence_swap = 1;", "", "savepoints"},
	{"OR JSON_EXISTS(d, '$.deleted')", "", "refusals"},
	{"JSON_EXISTS(d, '$.moved.to') OR", "", "refusals"},
	{" OR JSON_EXISTS(d, '$.moved.from')", "", "refusals"},
	{"WHEN JSON_VALUE(d, '$.mode') <> 'strict'", "WHEN FALSE", "refusals"},
	{"JSON_LENGTH(JSON_REMOVE(d, ", "JSON_LENGTH(JSON_REMOVE(d, '$.news', ", "refusals"},
	{"JSON_VALUE(d, '$.after_failover') <> '-1' AND", "", "another server"},
	{"AND BINARY mine <> BINARY JSON_VALUE(d, '$.identity')", "AND FALSE", "another server"},
	{"m.value, ':', UNIX_TIMESTAMP(m.row_start)", "JSON_VALUE(d, '$.identity')", "another server"},
	{"IF at < CAST(JSON_VALUE(d, '$.open') AS SIGNED) THEN", "IF FALSE THEN", "confirmed"},
	{"IF at <= CAST(JSON_VALUE(d, '$.through') AS SIGNED) THEN", "IF FALSE THEN", "confirmed"},
	{"IF at <= CAST(JSON_VALUE(d, '$.through') AS SIGNED) THEN", "IF TRUE THEN", "confirmed"},
	{"IF ord >= most THEN", "IF ord > most THEN", "courses"},
	{"CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', zone)", "NOW()", "zones"},
	{"IF day IS NULL THEN", "IF FALSE THEN", "without zones"},
	{"@@innodb_flush_log_at_trx_commit NOT IN (1, 3)", "FALSE", "settings"},
	{"MODIFIES SQL DATA SQL SECURITY DEFINER", "MODIFIES SQL DATA SQL SECURITY INVOKER", "rights"},
	{"years DIV 100 <> 20", "FALSE", "patterns"},
	{"begun DIV 100 <> 20", "FALSE", "patterns"},
	{"ended DIV 100 <> 20", "FALSE", "patterns"},
	{"(1 + i % 2)", "(2 - i % 2)", "patterns"},
	{"YEARWEEK(day, 3)", "YEARWEEK(day, 0)", "patterns"},
	{"begun + (starts > 1)", "begun + 1", "patterns"},
	{"GREATEST(width, LENGTH(number))", "width", "patterns"},
}

// TestMutantsOfSerials breaks each term of the texts. Without -long it
// breaks one of each.
func TestMutantsOfSerials(t *testing.T) {
	t.Parallel()
	p, m := servers.StartPostgres(t), servers.StartMariaDB(t)
	noticed(t, serialPostgresMutants, 50, serialProbes(false), serialText("postgres"), serialPostgres(p))
	without := append(serialProbes(false), probe{"without zones", nil, serialWithoutZones})
	noticed(t, serialMariaDBMutants, 50, without, serialText("mariadb"), serialMariaDB(m))
}
