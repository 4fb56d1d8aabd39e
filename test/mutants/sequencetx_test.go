package mutants

// txMutants break the rules of numbers that are taken in a transaction of the caller, and of
// counters of other programs that become sequences. Rules of package sequence are terms; see
// TestTerms.
var txMutants = []mutant{
	{
		rule: "a snapshot that is too old is no failure", file: "sqlstore/errors.go",
		old: ` || code == 1020`, now: ``, pkg: "./test/sequences", test: "TestSequenceTx/mariadb/1020",
	},
	{
		rule: "nor is a wait that was too long", file: "sqlstore/errors.go",
		old: ` || code == 1205`, now: ``, pkg: "./test/sequences", test: "TestSequenceTx/mariadb/1205",
	},
	{
		rule: "nor a deadlock in MySQL", file: "sqlstore/errors.go",
		old: `code == 1213 || `, now: ``, pkg: "./test/sequences", test: "TestSequenceTx/mariadb/1213",
	},
	{
		rule: "nor a snapshot that is too old in PostgreSQL", file: "sqlstore/errors.go",
		old: `case "40001", `, now: `case `, pkg: "./test/sequences", test: "TestSequenceTx/postgres/40001",
	},
	{
		rule: "nor a deadlock there", file: "sqlstore/errors.go",
		old: `"40P01", "55P03"`, now: `"55P03"`, pkg: "./test/sequences", test: "TestSequenceTx/postgres/40P01",
	},
	{
		rule: "nor a lock that is held there", file: "sqlstore/errors.go",
		old: `"40P01", "55P03"`, now: `"40P01"`, pkg: "./test/sequences", test: "TestSequenceTx/postgres/55P03",
	},
	{
		rule: "nor a file that is busy", file: "sqlstore/errors.go",
		old: `return code == codeBusy || code == codeLocked`, now: `return code == codeLocked`,
		pkg: "./test/sequences", test: "TestSequenceTx/sqlite/SQLITE_BUSY",
	},
	{
		rule: "a definition is locked after a take", file: "sqlstore/tx.go",
		old: `	if s.taken {`, now: `	if false {`, pkg: "./test/sequences", test: "TestSequenceTx/(postgres|mariadb)/a_definition",
	},
	{
		rule: "a record that was put back gives no number", file: "sqlstore/tx.go",
		old: `reloaded != 0 {`, now: `reloaded > 1 {`, pkg: "./test/sequences", test: "TestSequenceTx/postgres/after_rows",
	},
	{
		rule: "nor does data whose identity was put back", file: "sqlstore/tx.go",
		old: `case info.reloaded || !known`, now: `case !known`, pkg: "./test/sequences", test: "TestSequenceTx/postgres/identity",
	},
	{
		rule: "which no savepoint hides", file: "sqlstore/tx.go",
		old: `case info.reloaded && !info.idBack:`, now: `case info.reloaded:`, pkg: "./test/sequences", test: "TestSequenceTx/postgres/identity",
	},
	{
		rule: "nor a file whose witness is gone", file: "sqlstore/tx.go",
		old: ` || !known || `, now: ` || !known && floor < 0 || `, pkg: "./test/sequences", test: "TestSequenceTx/sqlite/identity",
	},
	{
		rule: "nor one that has seen fewer writes than its witness", file: "sqlstore/tx.go",
		old: `info.position < floor:`, now: `info.position < min(floor, 0):`, pkg: "./test/sequences", test: "TestSequenceTx/sqlite/after_rows",
	},
	{
		rule: "nor a server that forgets", file: "sqlstore/tx.go",
		old: `	case info.refusal != "":`, now: `	case false:`, pkg: "./test/sequences", test: "TestSequenceTx/mariadb/commits_last",
	},
	{
		rule: "nor a connection to a file that forgets", file: "sqlstore/sqlite.go",
		old: `	if level < 2 { // it cannot`, now: `	if level < 0 { // it cannot`, pkg: "./test/sequences", test: "TestSequenceTx/sqlite/commits_last",
	},
	{
		rule: "what is written in a savepoint is stamped", file: "sqlstore/postgres.go",
		old: `"UPDATE snowfence_lease SET xid = xmin WHERE`, now: `"UPDATE snowfence_lease SET xid = xid WHERE`,
		pkg: "./test/sequences", test: "TestSequenceTx/postgres/savepoints",
	},
	{
		rule: "and the counts of rows that come with a period", file: "sqlstore/postgres.go",
		old: `AND m.xmin = l.xmin AND m.xmin <> m.xid"`, now: `AND m.xmin = l.xmin AND false"`,
		pkg: "./test/sequences", test: "TestSequenceTx/postgres/a_period_in_a_savepoint",
	},
	{
		rule: "a connection that made a period may put data back later, and that is noticed", file: "sqlstore/mysql.go",
		old: `"SET @snowfence_swap = NULL"`, now: `"SET @snowfence_swap = 1 "`, pkg: "./test/sequences", test: "TestSequenceTx/mariadb/identity",
	},
	{
		rule: "a take counts as a write of its row in a file", file: "sqlstore/add.go",
		old: `swaps = swaps + 1, seq = ?"`, now: `seq = ?"`, pkg: "./test/sequences", test: "TestSequenceTx/sqlite/one_connection|TestSequenceTx/sqlite/savepoints",
	},
	{
		rule: "and of the file", file: "sqlstore/add.go",
		old: `position: v.position + 1}`, now: `position: v.position}`, pkg: "./test/sequences", test: "TestSequenceTx/sqlite/savepoints",
	},
	{
		rule: "a take has the generation that was read", file: "sqlstore/add.go",
		old: " WHERE namespace = ? AND node = ? AND generation = ?\"\n\n// addMySQL",
		now: " WHERE namespace = ? AND node = ? AND generation >= 0 * ?\"\n\n// addMySQL",
		pkg: "./test/sequences", test: "TestSequenceTx/mariadb/a_definition",
	},
	{
		rule: "a block of Leaf begins a block below its end", file: "internal/imports/rows.go",
		old: `block{end - n, end - 1, 1}`, now: `block{end - n - 1, end - 1, 1}`, pkg: "./test/imports", test: "TestImports/beside/leaf",
	},
	{
		rule: "and ends before the next", file: "internal/imports/rows.go",
		old: `block{end - n, end - 1, 1}`, now: `block{end - n, end, 1}`, pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "a block of CosId begins one above", file: "internal/imports/rows.go",
		old: `block{end - n + 1, end, 1}`, now: `block{end - n, end, 1}`, pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "CosId goes on one above its count", file: "internal/imports/rows.go",
		old: `position{end + 1, 1, retired}`, now: `position{end, 1, retired}`, pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "a CosId that starts again finds no counter to make", file: "internal/imports/rows.go",
		old: `c.counter.Name, uint64(full))`, now: `c.counter.Name+" was", uint64(full))`, pkg: "./test/imports", test: "TestImports/beside/cosid",
	},
	{
		rule: "a counter is moved out of reach", file: "internal/imports/imports.go",
		old: `	if err := k.retire(ctx, old); err != nil {`, now: `	if err := error(nil); err != nil {`, pkg: "./test/imports", test: "TestImports/beside/leaf",
	},
	{
		rule: "what old programs took until then lies below", file: "internal/imports/imports.go",
		old: `	if now, err = k.look(ctx, old); err != nil { // nobody`, now: `	if _, err = k.look(ctx, old); err != nil { // nobody`,
		pkg: "./test/imports", test: "TestImports/late",
	},
	{
		rule: "the floor is raised before the max", file: "internal/imports/imports.go",
		old: `sequence.Confirmation{Floor: &first})`, now: `sequence.Confirmation{Floor: new(first * 0)})`,
		pkg: "./test/imports", test: "TestImports/beside/leaf",
	},
	{
		rule: "a block of tinyid leaves its remainder", file: "internal/imports/tinyid.go",
		old: `(c.remainder-(n+1)%c.delta+c.delta)%c.delta }`, now: `0*(c.remainder-(n+1)%c.delta+c.delta)%c.delta }`,
		pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "it is taken only if nobody was faster", file: "internal/imports/tinyid.go",
		old: `max_id = ? AND version = ? AND`, now: `0 * ? + 0 * ? = 0 AND`, pkg: "./test/imports", test: "TestImports/faster",
	},
	{
		rule: "a block of wuid is one of its upper bits", file: "internal/imports/wuid.go",
		old: `(upper+1)<<wuidBits - 1, 1}`, now: `(upper+1)<<wuidBits, 1}`, pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "wuid goes on above the last upper bits", file: "internal/imports/wuid.go",
		old: `position{(upper + 1) << wuidBits`, now: `position{upper << wuidBits`, pkg: "./test/imports", test: "TestImports/block_ends",
	},
	{
		rule: "a block is not taken twice", file: "internal/imports/imports.go",
		old: `err != nil || info.Left > 0 {`, now: `err != nil {`, pkg: "./test/imports", test: "TestImports/beside/leaf",
	},
	{
		rule: "a sequence that lies above the counter is not of it", file: "internal/imports/imports.go",
		old: ` && *d.Max < now.next {`, now: ` {`, pkg: "./test/imports", test: "TestImports/refused",
	},
	{
		rule: "nor is one that another counter is imported to", file: "internal/imports/imports.go",
		old: ` && d.BlockOf == c.String()`, now: ``, pkg: "./test/imports", test: "TestImports/refused",
	},
	{
		rule: "a block says whose it is", file: "internal/imports/imports.go",
		old: `&b.last, c.String()`, now: `&b.last, ""`, pkg: "./test/imports", test: "TestImports/beside/leaf",
	},
	{
		rule: "and so does the next one", file: "internal/imports/imports.go",
		old: `b.first, b.last, c.String())`, now: `b.first, b.last, "")`, pkg: "./test/imports", test: "TestImports/next_block",
	},
}
