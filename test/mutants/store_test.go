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
		old: `	return used, s.checkFiles(used)`, now: `	return used, nil`, pkg: "./test/sqlite", test: "TestComparedBeforeWrites",
	},
	{
		rule: "and after it, before its use", file: "sqlstore/store.go",
		old: `changed := s.checkFiles(used); changed != nil`, now: `changed := s.checkFiles(used); changed != nil && false`, pkg: "./test/sqlite", test: "TestComparedAfterWrites",
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
		rule: "a file that has seen fewer swaps than its witness was put back", file: "sqlstore/sqlite.go",
		old: `!known || count < floor || rows != counted || torn`, now: `!known || count < floor-floor || rows != counted || torn`, pkg: "./test/sqlite", test: "TestReloadIsNoticed/restore",
	},
	{
		rule: "and one whose rows are gone", file: "sqlstore/sqlite.go",
		old: `!known || count < floor || rows != counted || torn`, now: `!known || count < floor || torn`, pkg: "./test/sqlite", test: "TestLastRowGoneIsNoticed",
	},
	{
		rule: "and one of which a row was put back alone", file: "sqlstore/sqlite.go",
		old: `!known || count < floor || rows != counted || torn`, now: `!known || count < floor || rows != counted`,
		pkg: "./test/sqlite", test: "TestOneRowPutBackIsNoticed",
	},
	{
		rule: "a swap is counted in its row", file: "sqlstore/sqlite.go",
		old: `", swaps = swaps + 1, seq = ?" + updateWhere + " AND label`, now: `", seq = ?" + updateWhere + " AND label`,
		pkg: "./test/sqlite", test: "TestOneRowPutBackIsNoticed",
	},
	{
		rule: "also one with another label", file: "sqlstore/sqlite.go",
		old: `updateSet + ", swaps = swaps + 1, seq`, now: `updateSet + ", seq`,
		pkg: "./test/sqlite", test: "TestSwapsOfLabels",
	},
	{
		rule: "so is that which made it", file: "sqlstore/sqlite.go",
		old: `?, 1, ?) ON CONFLICT`, now: `?, 0, ?) ON CONFLICT`,
		pkg: "./test/sqlite", test: "TestOneRowPutBackIsNoticed",
	},
	{
		rule: "each use compares with the witness", file: "sqlstore/store.go",
		old: `before.position = max(before.position, info.floor)`, now: ``,
		pkg: "./test/sqlite", test: "TestReadsBehindTheWitness",
	},
	{
		rule: "the witness names the database", file: "sqlstore/witness.go",
		old: `fmt.Fprintf(sum, "%s %d", id, count)`, now: `fmt.Fprintf(sum, "%d", count)`, pkg: "./test/sqlite", test: "TestWitness/of_another_database$",
	},
	{
		rule: "swaps are noted", file: "sqlstore/store.go",
		old: `info.position > info.floor {`, now: `false {`, pkg: "./test/sqlite", test: "TestReadsBehindTheWitness",
	},
	{
		rule: "each count has a slot of its own", file: "sqlstore/witness.go",
		old: `count%slots*slotWidth)`, now: `0)`, pkg: "./sqlstore", test: "TestWitnessKeepsTheHighest",
	},
	{
		rule: "the highest count is the witness's", file: "sqlstore/witness.go",
		old: `counts[j] > counts[i]`, now: `counts[j] < counts[i]`, pkg: "./sqlstore", test: "TestWitnessKeepsTheHighest",
	},
	{
		rule: "a swap gives its row the next number", file: "sqlstore/sqlite.go",
		old: `WHERE seq >= ?) + 1"`, now: `WHERE seq >= ?)"`,
		pkg: "./test/sqlite", test: "TestReloadIsNoticed/the_leases_alone",
	},
	{
		rule: "also in a batch", file: "sqlstore/sqlite.go",
		old: `next := info.position + 1`, now: `next := info.position`,
		pkg: "./test/sqlite", test: "TestReloadIsNoticed/the_leases_alone",
	},
	{
		rule: "a renewal looks whether the file went back, before it writes", file: "sqlstore/sqlite.go",
		old: `WHERE seq >= ?) + 1"`, now: `WHERE seq > 0*?) + 1"`,
		pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "it goes by the witness", file: "sqlstore/sqlite.go",
		old: `renewed(w, max(floor, v.position))`, now: `renewed(w, max(0*floor, v.position))`,
		pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "and by what was heard", file: "sqlstore/sqlite.go",
		old: `renewed(w, max(floor, v.position))`, now: `renewed(w, floor)`,
		pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "and wants a witness that knows the file", file: "sqlstore/sqlite.go",
		old: `	if err != nil || !known {`, now: `	if err != nil || !known && false {`,
		pkg: "./test/sqlite", test: "TestSwapsBesideADamagedWitness",
	},
	{
		rule: "a batch looks whether the file went back, before it writes", file: "sqlstore/sqlite.go",
		old: `info.unknown || info.position < floor {`, now: `info.unknown {`,
		pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "a batch goes by the witness", file: "sqlstore/sqlite.go",
		old: `			floor = max(floor, v.position)
`, now: `			floor = v.position
`, pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "and by what this program heard", file: "sqlstore/sqlite.go",
		old: `			floor = max(floor, v.position)
`, now: ``, pkg: "./test/sqlite", test: "TestSwapsThatMakeUpForWhatIsGone",
	},
	{
		rule: "but not by what it heard of other data", file: "sqlstore/sqlite.go",
		old: `info.dataID == v.dataID {`, now: `true {`, pkg: "./test/sqlite", test: "TestSwapsAfterTheAlarmOfAnother",
	},
	{
		rule: "and wants a witness that knows the data", file: "sqlstore/sqlite.go",
		old: `info.unknown || info.position < floor {`, now: `info.position < floor {`,
		pkg: "./test/sqlite", test: "TestSwapsBesideADamagedWitness",
	},
	{
		rule: "a pinned connection waits for the disk", file: "sqlstore/pinned.go",
		old: `	if !p.durable {`, now: `	if false {`, pkg: "./test/sqlite", test: "TestDurableRenewals",
	},
	{
		rule: "the files are compared where a connection is pinned", file: "sqlstore/pin.go",
		old: `if err := s.checkFiles(s.sideFiles); err != nil {`, now: `if err := s.checkFiles(s.sideFiles); err != nil && false {`,
		pkg: "./test/sqlite", test: "TestComparedBeforeTheIdentity",
	},
	{
		rule: "a witness is read anew when it was written", file: "sqlstore/witness.go",
		old: `text != w.last.text || `, now: ``, pkg: "./sqlstore", test: "TestWitnessKeepsTheHighest",
	},
	{
		rule: "and for each database", file: "sqlstore/witness.go",
		old: ` || id != w.last.id`, now: ``, pkg: "./sqlstore", test: "TestWitnessKeepsTheHighest",
	},
	{
		rule: "a namespace that is made again in a file gives another identity", file: "sqlstore/sqlite.go",
		old: `again = again || n == 0`, now: `_ = n`, pkg: "./test/sqlite", test: "TestMadeAgainUnderConnectedStore",
	},
	{
		rule: "the witness has the rights of the file", file: "sqlstore/witness.go",
		old: `f.Chmod(w.like.Mode().Perm())`, now: `nil`, pkg: "./test/sqlite", test: "TestWitnessHasTheRightsOfTheFile",
	},
	{
		rule: "a promoted server is another one", file: "sqlstore/postgres.go",
		old: `i.system || ':' || i.timeline ||`, now: `i.system ||`, pkg: "./test/postgres", test: "TestRecoveredBetweenRuns",
	},
	{
		rule: "a server of an older timeline is not heard", file: "sqlstore/identity.go",
		old: `info.system == s.system && info.term < s.term`, now: `false`, pkg: "./sqlstore", test: "TestNoteServer",
	},
	{
		rule: "nor one that answers late", file: "sqlstore/identity.go",
		old: `began < s.idSince`, now: `false`, pkg: "./sqlstore", test: "TestNoteServer",
	},
	{
		rule: "a row that was put back is noticed when it is read", file: "sqlstore/postgres.go",
		old: `"(xmin <> xid)::int"`, now: `"0"`, pkg: "./test/postgres", test: "TestReloadIsNoticed/the_leases_alone",
	},
	{
		rule: "so is the row of the identity", file: "sqlstore/postgres.go",
		old: `coalesce((m.xmin <> m.xid)::int, 0)`, now: `0`,
		pkg: "./test/postgres", test: "TestReloadIsNoticed/the_description_alone",
	},
	{
		rule: "a swap leaves rows alone that were put back", file: "sqlstore/postgres.go",
		old: ` AND l.xmin = l.xid RETURNING`, now: ` RETURNING`, pkg: "./test/postgres", test: "TestSwapLeavesReloadedRowsAlone",
	},
	{
		rule: "and does not call them lost", file: "sqlstore/swap.go",
		old: `found[n].Nonce == writes[i].Old:`, now: `found[n].Nonce == "" && writes[i].Old != "":`, pkg: "./test/postgres", test: "TestSwapLeavesReloadedRowsAlone",
	},
	{
		rule: "who opens a database looks through its leases", file: "sqlstore/postgres.go",
		old: `l.back + m.back > 0`, now: `m.reloaded > 0`, pkg: "./test/postgres", test: "TestLeaseWrittenBetweenRuns",
	},
	{
		rule: "and through what describes them", file: "sqlstore/postgres.go",
		old: `l.back + m.back > 0`, now: `l.reloaded > 0`, pkg: "./test/postgres", test: "TestDescriptionReloadedBetweenRuns",
	},
	{
		rule: "and counts rows", file: "sqlstore/postgres.go",
		old: ` OR l.rows <> coalesce(m.rows, -1)`, now: ``, pkg: "./test/postgres", test: "TestGoneRowsAreNoticed",
	},
	{
		rule: "new rows are counted", file: "sqlstore/postgres.go",
		old: `m.name = 'rows' AND a.added > 0`, now: `m.name = 'rows' AND false`, pkg: "./test/postgres", test: "TestUpkeepIsNoReload",
	},
	{
		rule: "a namespace that is made again gives another identity", file: "sqlstore/postgres.go",
		old: `m.name = 'id' AND a.again`, now: `m.name = 'id' AND false`, pkg: "./test/postgres", test: "TestNamespaceMadeAgain",
	},
	{
		rule: "an alarm comes once, so rows are stamped again", file: "sqlstore/postgres.go",
		old: `"UPDATE snowfence_lease SET xid = " + postgresXID + " WHERE xmin <> xid",`, now: ``, pkg: "./test/postgres", test: "TestReloadIsNoticed/by_an_update",
	},
	{
		rule: "a copy of a database is another one", file: "sqlstore/postgres.go",
		old: `i.timeline || ':' || i.db || '.'`, now: `i.timeline || '.'`, pkg: "./test/postgres", test: "TestCopiedDatabase",
	},
	{
		rule: "a server whose log is shorter than it was went back", file: "sqlstore/identity.go",
		old: `a.position < before.position`, now: `false`, pkg: "./test/postgres", test: "TestColdCopyUnderConnectedProgram",
	},
	{
		rule: "what is flushed counts, which a crash does not take back", file: "sqlstore/postgres.go",
		old: `(pg_current_wal_flush_lsn() - '0/0')`, now: `(pg_current_wal_insert_lsn() - '0/0')`, pkg: "./test/postgres", test: "TestCrashIsNoReload",
	},
	{
		rule: "restored tables are others in MySQL too", file: "sqlstore/dialect.go",
		old: `marked && of == mark`, now: `marked && of != ""`, pkg: "./test/mysql", test: "TestDumpRestoredBetweenRuns",
	},
	{
		rule: "leases that were put back into MariaDB and MySQL are noticed", file: "sqlstore/mysql.go",
		old: `IF(@snowfence_swap IS NULL, 'id', '')`, now: `''`,
		pkg: "./test/mysql", test: "TestReloadIsNoticed/the_leases_alone",
	},
	{
		rule: "a namespace that a swap makes is not put back", file: "sqlstore/mysql.go",
		old: `"SET @snowfence_swap = 1"`, now: `"SET @snowfence_swap = NULL"`, pkg: "./test/mysql", test: "TestOwnNamespaceIsNoReload",
	},
	{
		rule: "an identity that was put back into MariaDB is another one", file: "sqlstore/mysql.go",
		old: ` /*M!100600 , ':', UNIX_TIMESTAMP(row_start) */`, now: ``,
		pkg: "./test/mysql", test: "TestReloadIsNoticed/the_description,_without_triggers",
	},
	{
		rule: "commits of PostgreSQL wait for the disk", file: "sqlstore/postgres.go",
		old: `WHEN 'off' THEN set_config('synchronous_commit', 'on', true)`, now: `WHEN 'off' THEN ''`, pkg: "./test/postgres", test: "TestDurable",
	},
	{
		rule: "what a server says of itself counts with each use", file: "sqlstore/identity.go",
		old: `info.refusal != ""`, now: `false`, pkg: "./test/postgres", test: "TestSettings",
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
	{
		rule: "an id key of etcd that was put again is another one", file: "etcdstore/identity.go",
		old: `r.Kvs[0].CreateRevision, r.Kvs[0].ModRevision}`, now: `r.Kvs[0].CreateRevision, 0}`, pkg: "./test/etcd", test: "TestPutBackBetween",
		more: []edit{{`clientv3.Compare(clientv3.ModRevision(s.keys.id()), "=", id.change),`, ``}},
	},
	{
		rule: "a store that does not count says so", file: "lease/store.go",
		old: `return -1, nil`, now: `return 0, nil`, pkg: "./test/journal", test: "^TestStore$/^count$",
	},
	{
		rule: "records come page by page to the last", file: "lease/query.go",
		old: `len(rs) < paged ||`, now: `len(rs) <= paged ||`, test: "^TestRecordsOfManyPages$",
	},
	{
		rule: "a page begins above the one before", file: "lease/query.go",
		old: `next = r.Node + 1`, now: `next = r.Node + 2`, test: "^TestRecordsOfManyPages$",
	},
	{
		rule: "what is in no order of nodes is read in one go", file: "lease/query.go",
		old: `q.Namespace != "" && !q.ByUntil`, now: `q.Namespace != ""`, test: "^TestRecordsOfManyPages$",
	},
	{
		rule: "so is what is of all namespaces", file: "lease/query.go",
		old: `q.Namespace != "" && !q.ByUntil`, now: `!q.ByUntil`, test: "^TestRecordsOfManyPages$",
	},
	{
		rule: "a wrapper that swallows an answer is found", file: "lease/leasetest/wrapper.go",
		old: `case err == nil && !right:`, now: `case false:`, pkg: "./lease/leasetest", test: "^TestWrapperThatSwallowsIsFound$",
	},
	{
		rule: "and one that swallows an error of it", file: "lease/leasetest/wrapper.go",
		old: `case !errors.Is(err, inner.err):`, now: `case !errors.Is(err, inner.err) && false:`, pkg: "./lease/leasetest", test: "^TestWrapperThatSwallowsIsFound$",
	},
	{
		rule: "Holders passes on what its store says", file: "lease/holders_judge.go",
		old: `func (h *holders) rules(r Record) *rules {`, now: `func (h *holders) Pin(context.Context) (func(), error) { return func() {}, nil }

func (h *holders) rules(r Record) *rules {`, test: "^TestHoldersPassOn$",
	},
}
