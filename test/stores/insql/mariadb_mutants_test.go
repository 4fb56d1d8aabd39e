package insql

import (
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

const (
	tickOfTaken = "taken DIV 4096"
	utcOfServer = "UTC_TIMESTAMP(6)) + TIMESTAMPDIFF(MICROSECOND, NOW(6), here)"
)

var mariadbMutants = []mutant{
	{"tag < 0 OR tag > 7", "tag > 8", "tag"},
	{"id & ~(7 << 22) | ", "id | ", "tag"},
	{"IF COALESCE(@snowfence_checked, '') <> HEX(DATABASE()) THEN", "IF FALSE THEN", "another server"},
	{"IF COALESCE(@snowfence_checked, '') <> HEX(DATABASE()) THEN", "IF @snowfence_checked IS NULL THEN", "another server"},
	{"IF @@insert_id > 0 THEN", "IF FALSE THEN", "numbers of a session"},
	{"@@read_only AS CHAR) NOT IN", "@@read_only AS CHAR) IN", "unique"},
	{"CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF')", "FALSE", "another server"},
	{"@@innodb_flush_log_at_trx_commit NOT IN (1, 3)", "FALSE", "another server"},
	{"CONCAT(@@server_id, ", "CONCAT(", "another server"},
	{"(SELECT UNIX_TIMESTAMP(create_time)", "(SELECT 1", "data put back"},
	{"IF " + tickOfTaken + " < now THEN", "IF FALSE THEN", "fields"},
	{"IF " + tickOfTaken + " < now THEN", "IF " + tickOfTaken + " < now - 1000 THEN", "fields"},
	{"SET moved = now * 4096 + taken MOD 4096;", "SET moved = now * 4096;", "even"},
	{"SET moved = now * 4096 + taken MOD 4096;", "SET moved = taken MOD 4096 + 1;", "fields"},
	// The number that was put in is no ID: a neighbour can have it.
	{
		"    INSERT INTO snowfence_position (connection) VALUES (CONNECTION_ID());\n    SET taken = LAST_INSERT_ID();",
		"    SET taken = moved;", "stalled",
	},
	{"    DELETE FROM snowfence_position WHERE position = moved AND connection = CONNECTION_ID();\n", "", "unique"},
	{"\n  DELETE FROM snowfence_position WHERE position = taken AND connection = CONNECTION_ID();", "", "unique"},
	{"\n    DELETE FROM snowfence_position WHERE position = taken AND connection = CONNECTION_ID();", "", "unique"},
	{"IF taken DIV 4 > 68719476735 THEN", "IF FALSE THEN", "too far ahead"},
	{"IF now > 2199023255551 THEN", "IF FALSE THEN", "clock beyond the layout"},
	{"- now - 5;", "- now - 500;", "ahead"},
	{"SET waited = waited + ahead;", "SET waited = 0;", "too far ahead"},
	{"IF waited > 100 THEN", "IF waited > 100 AND FALSE THEN", "too far ahead"},
	{"(0 + taken MOD 4096)", "(0 + taken MOD 2048)", "stalled"},
	{"PRIMARY KEY (position, connection)", "PRIMARY KEY (position)", "stalled"},
	{"(5 + taken MOD 95)", "(4 + taken MOD 95)", "numbers left out"},
	{" << 0 | 20480", " << 0 | 24576", "fields"},
	{tickOfTaken + ") << 22", tickOfTaken + ") << 21", "fields"},
	{"(0 + taken MOD 256) << 10", "(0 + taken MOD 256) << 9", "parts around the sequence"},
	{"IF since NOT BETWEEN 0 AND 1799999999 THEN", "IF FALSE THEN", "time of the session"},
	{"IF since NOT BETWEEN 0 AND 1799999999 THEN", "IF since < 0 THEN", "time of the session"},
	{utcOfServer, "UTC_TIMESTAMP(6))", "time of the session"},
	{utcOfServer, "NOW(6)) + TIMESTAMPDIFF(MICROSECOND, NOW(6), here)", "time of the session"},
	{"utc - TIMESTAMPDIFF(MICROSECOND, here, FROM_UNIXTIME(utc * 0.000001))", "utc", "time of the session"},
	{"layout <> 'time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms' OR ", "", "printed again"},
	{" OR node <> 5)", ")", "printed again"},
	{"IF (SELECT COUNT(*) FROM snowfence_state) = 0 THEN", "IF TRUE THEN", "printed again"},
	{"IF false OR (SELECT COUNT(*) FROM snowfence_state) = 0 THEN", "IF false THEN", "printed anew"},
	{"IF false OR (", "IF (", "printed anew"},
	{"/*!80000 DROP FUNCTION IF EXISTS snowfence_next */", "DROP FUNCTION snowfence_next", "printed again"},
	{"+ CEIL(seconds * 1000000 / 1000)", "", "another server"},
	{" + 1000 + 1;", ";", "another server"},
	{"INSERT INTO snowfence_position VALUES (start * 4096, CONNECTION_ID());", "", "another server"},
	{"UPDATE snowfence_state SET server = ", "DO ", "another server"},
	{
		"IF taken DIV 4 > 68719476735 THEN\n    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the position",
		"IF FALSE THEN\n    DO '", "too far ahead",
	},
	{"seconds < 0 OR ", "", "another server"},
	{" OR seconds > 86400", "", "another server"},
	{"IF NEW.`id` IS NULL OR ", "IF ", "trigger"},
	{"NEW.`id` IS NULL OR NEW.`id` = 0 THEN", "NEW.`id` IS NULL OR NEW.`id` >= 0 THEN", "trigger"},
	{"ALTER COLUMN `id` SET DEFAULT 0", "COMMENT = ''", "trigger"},
	{"IF id >> 63 <> 0 THEN", "IF FALSE THEN", "both ways"},
	{"IF id >> 62 <> 0 THEN", "IF id >> 63 <> 0 THEN", "both ways, 62 bits"},
	{"since DIV 1000 + (since MOD 1000 > 0)", "since DIV 1000", "both ways"},
	{"IF(tick > 2199023255551, 9223372036854775807, ", "IF(FALSE, 0, ", "both ways"},
	{"- (1735689600000000), 0)", "- (1735689600000000), -86400000000)", "both ways"},
	{"RETURN IF(id = CAST(1099511627776 << 23 AS SIGNED), 9223372036854775807, id);", "RETURN id;", "both ways, 64 bits"},
}

// TestMutantsOfMariaDB breaks each term of the text, with -long only: it
// takes minutes.
func TestMutantsOfMariaDB(t *testing.T) {
	if !*long {
		return // make prove PART=sql
	}
	t.Parallel()
	m := servers.StartMariaDB(t, noFlush...)
	open := mariadbOpener(m)
	noticed(t, mariadbMutants, 1, mariadbProbes, mariadbText, func(t testing.TB, text string) base {
		// What a probe left when it stopped half-way.
		m.SQL(t, "", "SET GLOBAL server_id = 1, GLOBAL innodb_flush_log_at_trx_commit = 1, GLOBAL read_only = 0")
		return open(t, text)
	})
}
