package insql

import (
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

const (
	pgTake   = "WHILE NOT pg_try_advisory_xact_lock(class::int, lane) LOOP"
	pgWait   = "      PERFORM pg_advisory_xact_lock(class::int, lane);\n"
	pgPos    = "pos := greatest(last + 1, tick * 4096 + (last + 1) % 4096);"
	pgApart  = "COMMIT;\n\n-- By itself, because transactions that wrote to the table may wait for a lane."
	pgColumn = "ALTER TABLE \"orders\" ALTER COLUMN \"id\" SET DEFAULT \"public\".snowfence_next();\n"
	pgLock   = "LOCK TABLE \"orders\" IN ACCESS EXCLUSIVE MODE;"
)

var pgMutants = []mutant{
	{pgTake, "WHILE false LOOP", "stalled"},
	{pgTake, "WHILE NOT pg_try_advisory_lock(class::int, lane) LOOP", "cancelled"},
	{pgWait, "", "stalled"},
	{pgPos, "pos := last + 1;", "clock back"},
	{pgPos, "pos := tick * 4096 + (last + 1) % 4096;", "clock back"},
	{pgPos, "pos := least(last + 1, tick * 4096 + (last + 1) % 4096);", "clock back"},
	{pgPos, "pos := greatest(last, tick * 4096 + (last + 1) % 4096);", "clock back"},
	{"+ (last + 1) % 64);", ");", "even"},
	{"IF current_setting('synchronous_commit') = 'off' THEN", "IF false THEN", "settings"},
	{"set_config('synchronous_commit', 'on', true)", "set_config('synchronous_commit', 'off', true)", "settings"},
	{"PERFORM setval(seq, pos);", "PERFORM setval(seq, last + 1);", "clock back"},
	{"PERFORM setval(seq, pos);", "PERFORM setval(seq, pos, false);", "clock back"},
	{"waited := waited + ahead;", "", "ahead"},
	{"- tick - 50;", "- tick - 500;", "ahead"},
	{"EXIT WHEN ahead <= 0;", "EXIT;", "ahead"},
	{"IF waited * 1000 > 2000000 THEN", "IF waited * 1000 > 20000000000 THEN", "ahead"},
	{"PERFORM pg_sleep(ahead * 1000 / 1000000.0);", "", "ahead"},
	{"tick := ((date_part", "tick := 1 + ((date_part", "parts"},
	{"(5 + lane::bigint * 7 + pos % 7)", "(4 + lane::bigint * 7 + pos % 7)", "slices"},
	{"(5 + lane::bigint * 7 + pos % 7)", "(5 + lane::bigint * 6 + pos % 7)", "slices"},
	{"(5 + lane::bigint * 7 + pos % 7)", "(5 + pos % 7)", "slices"},
	{"(5 + lane::bigint * 7 + pos % 7)", "(5 + lane::bigint * 7 + pos % 8)", "slices"},
	{"(5 + lane::bigint * 7 + pos % 7)", "(5 + lane::bigint * 7 + pos % 6)", "slices"},
	{"<< 10) | 5;", "<< 10) | 6;", "parts"},
	{
		"IF last IS NULL THEN\n    RAISE 'snowfence: the sequence %",
		"last := coalesce(last, 0);\n  IF false THEN\n    RAISE 'snowfence: the sequence %", "reset",
	},
	{"OR tick > 2199023255551 OR tick < 0 THEN", "OR tick > 2199023255551 THEN", "lifetime"},
	{"pos / 64 > 2199023255551 OR tick > 2199023255551 OR", "", "lifetime"},
	{"WHERE xmin = xid AND lanes", "WHERE lanes", "another server"},
	{"IF was IS DISTINCT FROM \"public\".snowfence_identity() THEN", "IF false THEN", "another server"},
	{
		"IF was IS DISTINCT FROM \"public\".snowfence_identity() THEN",
		"IF was <> \"public\".snowfence_identity() THEN", "another server",
	},
	{"system_identifier FROM pg_control_system()) || '.'", "7)::text || '.'", "another server"},
	{"|| left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '.'", "|| '00000002.'", "another server"},
	{"clock_timestamp() + wait) * 1000000)::bigint", "clock_timestamp()) * 1000000)::bigint", "another server"},
	{"/ 1000 + 3000 + 1;", "/ 1000 + 1;", "another server"},
	{"wait < '0'::interval OR ", "", "another server"},
	{" OR wait > '1 day'::interval", "", "another server"},
	{"IF had.lanes = 2 THEN", "IF false THEN", "printed again"},
	{"had.layout <> ", "false AND had.layout <> ", "printed again"},
	{" OR had.node <> 5 THEN", " THEN", "printed again"},
	{"start := greatest(start, last / had.slots + 1);", "", "lanes"},
	{"start := greatest(start, last / had.slots + 1);", "start := greatest(start, last / had.slots);", "lanes"},
	{"start := greatest(start, last / had.slots + 1);", "start := last / had.slots + 1;", "lanes"},
	{"xmin = xid AND identity = \"public\".snowfence_identity()) THEN", "true) THEN", "lanes"},
	{"    start := 0;\n", "", "lanes"},
	{"had.lanes IS NOT NULL AND NOT false THEN", "had.lanes IS NOT NULL THEN", "printed anew"},
	{"EXIT WHEN start = 0;", "EXIT;", "printed anew"},
	{"pg_sequence_last_value(seq) < start * 2048", "pg_sequence_last_value(seq) < start * 1024", "printed anew"},
	{"pg_sequence_last_value(seq) < start * 2048", "pg_sequence_last_value(seq) > 0", "printed anew"},
	{pgApart, pgColumn + pgApart, "busy table"},
	{pgLock, "", "column"},
	{"LIKE 'nextval(%'", "LIKE 'x'", "column"},
	{"IF kind <> '' OR was", "IF was", "column"},
	{"IF top >= ", "IF top < 0 AND top >= ", "column"},
	{"ALTER TABLE \"orders\" ALTER COLUMN \"id\" DROP IDENTITY;", "", "column"},
	{" + s.seqincrement,", ",", "column"},
	{"CASE kind WHEN 'a' THEN 'ALWAYS'", "CASE kind WHEN '' THEN 'ALWAYS'", "column"},
	{"IF NOT fits THEN", "IF false THEN", "column"},
	{"k.contype = 'f'", "false", "column"},
	{"k.conkey[array_position(k.confkey, id.attnum)]", "k.conkey[1]", "column"},
	{"SECURITY DEFINER SET search_path = pg_catalog, pg_temp", "SET search_path = pg_catalog, pg_temp", "rights"},
	{"SECURITY DEFINER SET search_path = pg_catalog, pg_temp", "SECURITY DEFINER", "rights"},
	{"has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')", "true", "rights"},
	{"REVOKE ALL ON FUNCTION \"public\".snowfence_confirm(interval) FROM PUBLIC;", "", "rights"},
	{"REVOKE ALL ON FUNCTION \"public\".snowfence_check(text) FROM PUBLIC;", "", "rights"},
	{"REVOKE ALL ON FUNCTION \"public\".snowfence_identity(), \"public\".snowfence_accept() FROM PUBLIC;", "", "rights"},
	{"(d % 1000 > 0)::int", "0", "both ways"},
	{"CASE WHEN x.tick > 2199023255551 THEN 9223372036854775807 ELSE", "CASE WHEN false THEN 0 ELSE", "both ways"},
	{
		"SELECT CASE WHEN i = 2199023255552::bigint << 22 THEN 9223372036854775807 ELSE i END",
		"SELECT i", "both ways, 64 bits",
	},
	{" WHERE id >> 63 = 0", "", "both ways"},
	{"tag < 0 OR tag > 7", "tag > 8", "tag"},
	{"(id & ~(7::bigint << 22)) | ", "id | ", "tag"},
}

// TestMutantsOfPostgreSQL breaks each term of the text. Without -long it
// breaks two.
func TestMutantsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_connections=300", "max_prepared_transactions=5", "fsync=off", "autovacuum=off")
	noticed(t, pgMutants, 48, pgProbes, pgText, pgOpener(p))
}
