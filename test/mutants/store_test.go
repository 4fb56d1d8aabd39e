package mutants

var storeMutants = []mutant{
	{
		rule: "a swap compares in the database", file: "sqlstore/swap.go",
		old: `	if n == 0 {`, now: `	if n < 0 {`, pkg: "./test/sqlite", test: "TestConformance/^swap$",
	},
	{
		rule: "a result counts only after the commit", file: "sqlstore/swap.go",
		old: `c.ExecContext(ctx, "COMMIT")`, now: `c.ExecContext(ctx, "ROLLBACK")`, pkg: "./test/sqlite", test: "TestConformance/swap_of_a_batch",
	},
	{
		rule: "a replaced file is noticed", file: "sqlstore/file.go",
		old: `os.SameFile(before, now):`, now: `true:`, pkg: "./test/sqlite", test: "TestReplacedFile",
	},
	{
		rule: "so are files beside it", file: "sqlstore/file.go",
		old: `	for i, suffix := range suffixes {
		if err := unchanged(`, now: `	for i, suffix := range suffixes[:0] {
		if err := unchanged(`, pkg: "./test/sqlite", test: "TestDeletedSideFiles/^(shm|wal_and_shm)$",
	},
	{
		rule: "they are compared before a write", file: "sqlstore/pin.go",
		old: `	return used, s.compare(used)`, now: `	return used, nil`, pkg: "./test/sqlite", test: "TestComparedBeforeWrites",
	},
	{
		rule: "and after it, before its use", file: "sqlstore/store.go",
		old: `changed := s.compare(used); changed != nil`, now: `changed := s.compare(used); changed != nil && false`, pkg: "./test/sqlite", test: "TestComparedAfterWrites",
	},
	{
		rule: "a connection stays open while there are leases", file: "sqlstore/pin.go",
		old: `	case s.file == nil || !spare:`, now: `	case s.file == nil || !spare || true:`, pkg: "./test/sqlite", test: "TestPin",
	},
	{
		rule: "a file with two names is refused", file: "sqlstore/file.go",
		old: `names > 1 {`, now: `names > 2 {`, pkg: "./test/sqlite", test: "TestNames",
	},
	{
		rule: "a mounted file is refused", file: "sqlstore/file.go",
		old: `	if mounted {`, now: `	if false {`, pkg: "./sqlstore", test: "TestMounts",
	},
	{
		rule: "commits wait for the disk", file: "sqlstore/sqlite.go",
		old: `	if level >= 2 {`, now: `	if level >= 0 {`, pkg: "./test/sqlite", test: "TestDurable",
	},
	{
		rule: "a promoted server is another one", file: "sqlstore/postgres.go",
		old: `i.system || ':' || i.timeline ||`, now: `i.system ||`, pkg: "./test/postgres", test: "TestRecoveredBetweenRuns",
	},
	{
		rule: "a server of an older timeline is not heard", file: "sqlstore/identity.go",
		old: `word.system == s.system && word.term < s.term`, now: `false`, pkg: "./sqlstore", test: "TestHear",
	},
	{
		rule: "nor one that answers late", file: "sqlstore/identity.go",
		old: `began < s.since`, now: `false`, pkg: "./sqlstore", test: "TestHear",
	},
	{
		rule: "restored tables are others", file: "sqlstore/dialect.go",
		old: `marked && of == mark`, now: `marked && of != ""`, pkg: "./test/postgres", test: "TestDumpRestoredBetweenRuns",
	},
	{
		rule: "restored tables are others in MySQL too", file: "sqlstore/dialect.go",
		old: `marked && of == mark`, now: `marked && of != ""`, pkg: "./test/mysql", test: "TestDumpRestoredBetweenRuns",
	},
	{
		rule: "commits of PostgreSQL wait for the disk", file: "sqlstore/postgres.go",
		old: `WHEN 'off' THEN set_config('synchronous_commit', 'on', true)`, now: `WHEN 'off' THEN ''`, pkg: "./test/postgres", test: "TestDurable",
	},
	{
		rule: "what a server says of itself counts with each use", file: "sqlstore/identity.go",
		old: `word.refusal != ""`, now: `false`, pkg: "./test/postgres", test: "TestSettings",
	},
	{
		rule: "an unknown outcome is not tried again", file: "sqlstore/errors.go",
		old: `case "40001",`, now: `case "", "40001",`, pkg: "./test/postgres", test: "TestLostAnswer",
	},
	{
		rule: "nor is one of a commit", file: "sqlstore/errors.go",
		old: `	code := mysqlCode(err)
	return code == 1213`, now: `	code := mysqlCode(err)
	return code == 0 || code == 1213`, pkg: "./test/mysql", test: "TestLostAnswer",
	},
	{
		rule: "commits of MySQL wait for the disk", file: "sqlstore/mysql.go",
		old: `@@innodb_flush_log_at_trx_commit NOT IN (1, 3)`, now: `false`, pkg: "./test/mysql", test: "TestSettings",
	},
	{
		rule: "connections of MySQL commit", file: "sqlstore/mysql.go",
		old: `WHEN @@autocommit = 0`, now: `WHEN false`, pkg: "./test/mysql", test: "TestSettings",
	},
	{
		rule: "texts are compared byte by byte", file: "sqlstore/mysql.go",
		old: `nonce VARBINARY(64)`, now: `nonce VARCHAR(64)`, pkg: "./test/mysql", test: "TestBytes",
	},
}
