package insql

import "testing"

var sqliteMutants = []mutant{
	{"max(position + 1, now.tick", "max(position, now.tick", "rolled back"},
	{"max(position + 1, now.tick * 4096 + (position + 1) % 4096)", "now.tick * 4096 + (position + 1) % 4096", "rolled back"},
	{"now.tick * 4096 + (position + 1) % 4096)", "now.tick * 4096)", "fields"},
	{"max(position + 1, now.tick * 4096 + (position + 1) % 4096)", "position + 1", "fields"},
	{" AND layout = 'time=41", " AND layout <> 'time=42", "another node"},
	{"ms' AND node = 5\n", "ms'\n", "another node"},
	{"min(now.tick + 1000, 2199023255551)", "2199023255551", "too far ahead"},
	{"min(now.tick + 1000, 2199023255551)", "now.tick + 999000", "too far ahead"},
	{"<= min(", "<= 1 << 50 | min(", "too far ahead"},
	{"((position / 4096) << 22)", "((position / 4096) << 21)", "fields"},
	{"(5 + position % 95)", "(4 + position % 95)", "numbers left out"},
	{"position % 256) << 10", "position % 256) << 9", "parts around the sequence"},
	{" | 20480 AS id", " | 24576 AS id", "fields"},
	{"WHEN layout = excluded.layout AND node", "WHEN node", "another node"},
	{" AND node = excluded.node THEN", " THEN", "another node"},
	{"WHERE id >> 63 = 0", "", "both ways"},
	{"(d + 10000 - 1) / 10000", "d / 10000", "both ways, parts"},
	{"WHEN tick > 2199023255551 THEN", "WHEN FALSE THEN", "both ways"},
	{":time * 1000 - (1735689600000000), 0)", ":time * 1000 - (1735689600000000), -86400000)", "both ways"},
}

// TestMutantsOfSQLite breaks each term of the text. Without -long it breaks two.
func TestMutantsOfSQLite(t *testing.T) {
	t.Parallel()
	noticed(t, sqliteMutants, 16, sqliteProbes, sqliteText, sqliteAgain)
}
