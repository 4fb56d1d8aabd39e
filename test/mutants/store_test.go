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
}
