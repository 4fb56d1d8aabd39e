package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

// serialProbes look for one kind of mistake each.
func serialProbes(long bool) []probe {
	total := int64(300)
	if long {
		total = 100_000
	}
	return []probe{
		{"crowd", nil, serialCrowd(total)},
		{"savepoints", nil, serialSavepoints},
		{"patterns", nil, serialPatterns},
		{"zones", nil, serialZones},
		{"courses", nil, serialCourses},
		{"refusals", nil, serialRefusals},
		{"confirmed", nil, serialConfirmed},
		{"put back", nil, serialPutBack},
		{"another server", nil, serialAnotherServer},
		{"isolation", nil, serialIsolation},
		{"changed meanwhile", nil, serialChanged},
		{"rights", nil, serialRights},
		{"settings", nil, serialSettings},
	}
}

// serialSavepoints begins a period in a savepoint, also one that is rolled
// back: the rows look like all others.
func serialSavepoints(b base) {
	takes := func(steps ...string) {
		b.must(b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			for _, step := range steps {
				if _, err := tx.ExecContext(ctx, step); err != nil {
					return err
				}
				if err := errors.Join(b.invoice(ctx, tx, true, false), b.invoice(ctx, tx, false, false)); err != nil {
					return fmt.Errorf("after %s: %w", step, err)
				}
			}
			return nil
		}))
	}
	takes("SAVEPOINT a", "ROLLBACK TO SAVEPOINT a")
	b.looksOwn()
	year := time.Now().In(time.FixedZone("", 3600)).Year()
	b.do("DELETE FROM invoice", fmt.Sprintf("INSERT INTO invoice VALUES (0, 2), (%d, 2)", year))
	takes("SAVEPOINT a", "SAVEPOINT b", "RELEASE SAVEPOINT b")
	b.looksOwn()
}

// serialPatterns compares texts and periods with those of Go, for all
// fields of patterns.
func serialPatterns(b base) {
	numbers := []int64{0, 7, 123456, 1 << 52}
	for i, pattern := range []string{
		"RE-{year}-{n:6}", "{yy}{month}{day}{n}", "{n:18}/{yy}", "{year}Q{quarter}.{n:2+}", "{year}W{week}-{n}",
		"{yy}{week}{n:3+}{luhn}", "{fy:4}-{fyyend:4}/{n:4}", "{fyend:10}{month}{n}", "{fyy:12}{quarter}{n:5}{luhn}",
		"{year}-{month:shown}-{day:shown}-{n:5}", "{fyyend:7}/{quarter:shown}/{month:shown}/{n}",
		"{fy:1}{fyend:1}{n}", "ünß {year} №{n:3}{luhn}", "{fyy:4}{fyyend:4}{month}{day}{n}",
	} {
		for j, day := range []string{
			"2026-01-01", "2027-01-01", "2024-02-29", "2026-03-31", "2026-04-01", "2026-12-31", "2021-01-03",
			"2020-12-31", "2099-12-31", "2000-01-01", "2100-01-01", "1999-12-31", "2026-09-30", "2026-10-01",
			"2025-12-29", "2026-07-01", "2099-04-01",
		} {
			n := numbers[(i+j)%len(numbers)]
			b.samePattern(sequence.Definition{Mode: sequence.Strict, Pattern: pattern}, day, n)
		}
	}
}

func (b base) samePattern(d sequence.Definition, day string, n int64) {
	b.Helper()
	at, err := time.Parse(time.DateOnly, day)
	b.must(err)
	period, ended := d.Period(at)
	var got sequence.Serial
	err = b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
		ask := fmt.Sprintf("SELECT period, label FROM snowfence_dated('%s', '%s', %d)", d.Pattern, day, n)
		if b.mariadb != nil {
			call := fmt.Sprintf("CALL snowfence_dated('%s', '%s', %d, @period, @label)", d.Pattern, day, n)
			if _, err := tx.ExecContext(ctx, call); err != nil {
				return err
			}
			ask = "SELECT @period, @label"
		}
		return tx.QueryRowContext(ctx, ask).Scan(&got.Period, &got.Text)
	})
	if ended != nil {
		b.failing(err, "no place for")
		return
	}
	b.must(err)
	taken := int64(at.Year()*10_000 + int(at.Month())*100 + at.Day())
	of, err := sequence.Serials{Period: period, First: n, Count: 1, Taken: taken}.Of(d)
	if want := of.At(0); err != nil || got.Period != want.Period || got.Text != want.Text {
		b.Fatalf("%s on %s: SQL says %+v, and Go %+v: %v", d.Pattern, day, got, want, err)
	}
}

// serialZones begins a period at midnight of the zone. CET has summer time,
// as a zone; as an abbreviation it has none.
func serialZones(b base) {
	b.create("cet", sequence.Definition{Pattern: "{year}{month}/{n}", Zone: "CET"})
	set := "SET timezone = 'Pacific/Apia'" // of the session, which does not count
	if b.mariadb != nil {
		set = "SET time_zone = '-11:00'"
	}
	for _, c := range []struct{ name, at, want string }{
		{"dated", "2026-12-31T22:59:59Z", "RE-2026-000001"},
		{"dated", "2026-12-31T23:00:00Z", "RE-2027-000001"},
		{"cet", "2026-07-31T21:59:59Z", "202607/1"},
		{"cet", "2026-07-31T22:00:00Z", "202608/1"},
		{"cet", "2026-07-31T20:00:00Z", "202607/2"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		b.must(err)
		b.wants(c.name, c.want, append(b.at(at), set)...)
	}
}

// serialWithoutZones has dates in UTC alone.
func serialWithoutZones(b base) {
	b.create("utc", sequence.Definition{Pattern: "{year}{n:4+}"})
	b.wants("utc", fmt.Sprintf("%d0001", time.Now().UTC().Year()))
	b.refuses("dated", "mariadb-tzinfo-to-sql")
	b.confirm("dated", 1)
	b.refuses("dated", "mariadb-tzinfo-to-sql")
	b.wants("orders", "1")
}

// serialCourses counts up to the end, in every direction.
func serialCourses(b base) {
	for i, c := range []struct {
		start, step, last int64
		want              []string
	}{
		{1, 1, 2, []string{"1", "2"}},
		{5, -3, -2, []string{"5", "2", "-1"}},
		{100, 10, 129, []string{"100", "110", "120"}},
		{math.MinInt64, math.MaxInt64, math.MaxInt64, []string{"-9223372036854775808", "-1", "9223372036854775806"}},
		{math.MaxInt64, -1 << 62, math.MinInt64, []string{
			"9223372036854775807", "4611686018427387903", "-1", "-4611686018427387905",
		}},
	} {
		name := fmt.Sprint("course", i)
		b.create(name, sequence.Definition{Start: &c.start, Step: c.step, Max: &c.last})
		for _, want := range c.want {
			b.wants(name, want)
		}
		b.refuses(name, "no number left")
	}
	b.must(sequence.Update(b.Context(), b.st, "course0", sequence.Changes{Max: new(int64(3))}))
	b.wants("course0", "3")
	b.refuses("course0", "no number left")
	b.create("digit", sequence.Definition{Pattern: "{year}{n:1}", Start: new(int64(9))})
	b.wants("digit", fmt.Sprint(time.Now().UTC().Year(), "9"))
	b.refuses("digit", "no number left")
}

// changed changes the data of the sequence orders, as a write of ours.
func (b base) changed(set string) {
	b.Helper()
	change := "UPDATE snowfence_lease SET data = " + set + " WHERE namespace = '#orders'"
	if b.mariadb == nil {
		change = "WITH x AS (" + change + " RETURNING 1) SELECT 1"
		change = strings.Replace(change, " WHERE", ", xid = (txid_current() & 4294967295)::text::xid WHERE", 1)
	}
	b.do(change)
}

// serialRefusals asks for numbers that there are not.
func serialRefusals(b base) {
	b.refuses("others", "create it")
	b.must(sequence.Create(b.Context(), b.st, "dense", sequence.Definition{Mode: sequence.Dense}))
	b.refuses("dense", "starts above")
	b.wants("orders", "1")
	b.must(sequence.Delete(b.Context(), b.st, "orders"))
	b.refuses("orders", "create it")
	b.create("orders", sequence.Definition{})
	b.wants("orders", "2")
	b.changed(`replace(data, '"mode"', '"news":1,"mode"')`)
	b.refuses("orders", "later version")
	b.changed(`replace(data, '"news":1,"mode"', '"mode"')`)
	b.wants("orders", "3")
	b.changed(`replace(data, '"moved":{', '"moved":{"to":"etcd",')`)
	b.refuses("orders", "was moved")
	b.changed(`replace(data, '"to":"etcd"', '"from":"etcd"')`)
	b.refuses("orders", "was moved")
}

func (b base) confirm(name string, floor int64) {
	b.Helper()
	b.must(sequence.Confirm(b.Context(), b.st, name, sequence.Confirmation{Floor: &floor}))
}

// serialConfirmed takes numbers above a floor after a confirmation, and
// none of a period that it closed.
func serialConfirmed(b base) {
	now := time.Now()
	berlin, err := time.LoadLocation("Europe/Berlin")
	b.must(err)
	dated := func(years, n int) {
		b.Helper()
		at := now.AddDate(years, 0, 0)
		b.wants("dated", fmt.Sprintf("RE-%d-%06d", at.In(berlin).Year(), n), b.at(at)...)
	}
	b.confirm("orders", 100)
	b.wants("orders", "100")
	dated(0, 1)
	b.confirm("dated", 50)
	dated(0, 50)
	b.confirm("dated", 20) // the higher floor counts
	dated(0, 51)
	b.refuses("dated", "was closed", b.at(now.AddDate(-2, 0, 0))...)
	dated(1, 50) // which is open, and begins at the floor
	dated(3, 1)  // nothing was given there
}

// serialPutBack puts back each row that counts.
func serialPutBack(b base) {
	open := func() {
		for _, name := range []string{"orders", "dated"} {
			_, _ = sequence.Show(b.Context(), b.st, name) // gives the data another identity
			b.confirm(name, 1)
			b.taken(name)
		}
	}
	open()
	for where, affected := range map[string][]string{
		"namespace = '#orders'":             {"orders"},
		"namespace = '#dated' AND node > 0": {"dated"},
		"namespace = '#dated' AND node < 0": {"dated"},
		"node > -3":                         {"orders", "dated"},
	} {
		b.do("CREATE TABLE saved AS SELECT * FROM snowfence_lease WHERE "+where,
			"DELETE FROM snowfence_lease WHERE "+where,
			"INSERT INTO snowfence_lease SELECT * FROM saved", "DROP TABLE saved")
		for _, name := range affected {
			b.refuses(name, "lost")
		}
		open()
	}
	back := "UPDATE snowfence_meta SET value = value WHERE name = 'id'"
	if b.mariadb != nil {
		back = "REPLACE INTO snowfence_meta (name, value) SELECT name, value FROM snowfence_meta WHERE name = 'id'"
	}
	b.do(back)
	b.refuses("orders", "lost")
	b.refuses("dated", "lost")
}

// serialAnotherServer has a record that says it is of another server, and
// the reactions to that.
func serialAnotherServer(b base) {
	ctx := b.Context()
	if b.mariadb == nil { // the program that made the sequence may not ask for the cluster's number
		identity := func(was, is string) { b.changed("regexp_replace(data, '" + was + "', '" + is + "')") }
		identity(`"postgres:\d+:`, `"postgres:-:`)
		b.wants("orders", "1")
		identity(`"postgres:-:(\d+):`, `"postgres:-:2\1:`)
		b.refuses("orders", "may have lost")
		identity(`"postgres:-:2(\d+):`, `"postgres:-:\1:`)
		b.wants("orders", "2")
		identity(`"postgres:-:(\d+):[^"]*"`, `"postgres:-:\1"`)
		b.refuses("orders", "may have lost")
		b.must(sequence.Delete(ctx, b.st, "orders"))
		b.create("orders", sequence.Definition{})
		b.confirm("orders", 1)
	}
	n, err := strconv.ParseInt(b.taken("orders"), 10, 64)
	b.must(err)
	after := func(reaction int64) {
		b.must(sequence.Update(ctx, b.st, "orders", sequence.Changes{AfterFailover: &reaction}))
	}
	_, err = sequence.Restored(ctx, b.st, "orders")
	b.must(err)
	b.refuses("orders", "may have lost numbers")
	after(sequence.Trust)
	b.wants("orders", fmt.Sprint(n+1))
	after(10)
	b.refuses("orders", map[bool]string{true: "snowfence sequence next", false: "may have lost"}[b.mariadb != nil])
	s, err := sequence.Open(ctx, b.st, "orders", nil)
	b.must(err)
	defer s.Close()
	if got, err := s.Next(ctx); err != nil || got != n+12 { // it skips them
		b.Fatalf("Next gave %d: %v", got, err)
	}
	b.wants("orders", fmt.Sprint(n+13))
}

// serialIsolation takes numbers in transactions that see the past.
func serialIsolation(b base) {
	for _, name := range []string{"orders", "dated"} {
		b.taken(name)
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			var got int64
			err := b.in(level, func(ctx context.Context, tx *sql.Tx) error {
				var n int
				if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM invoice").Scan(&n); err != nil {
					return err
				}
				if _, err := b.take(name); err != nil {
					return err
				}
				return tx.QueryRowContext(ctx, "SELECT snowfence_serial('"+name+"')").Scan(&got)
			})
			if !meets(err) && (b.mariadb == nil || err != nil) {
				b.Fatalf("%s, %v: %d, %v", name, level, got, err)
			}
		}
		b.countsOn(name)
	}
}

// countsOn compares the next number with that of Go.
func (b base) countsOn(name string) {
	b.Helper()
	text := b.taken(name)
	n, err := strconv.ParseInt(text[strings.LastIndexByte(text, '-')+1:], 10, 64)
	b.must(err, b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
		s, err := sqlstore.SequenceTx(ctx, tx, b.dialect(), name)
		if err == nil && s.N != n+1 {
			err = fmt.Errorf("%s gave %q, and then Go %+v", name, text, s)
		}
		return err
	}))
}

// serialChanged confirms a sequence while a transaction has read it: its
// number is not below the floor.
func serialChanged(b base) {
	for _, name := range []string{"orders", "dated"} {
		b.taken(name)
		var text string
		err := b.in(sql.LevelRepeatableRead, func(ctx context.Context, tx *sql.Tx) error {
			var n int
			err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM snowfence_lease").Scan(&n)
			if err == nil {
				err = sequence.Confirm(ctx, b.st, name, sequence.Confirmation{Floor: new(int64(1000))})
			}
			if err == nil {
				err = tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('"+name+"')").Scan(&text)
			}
			return err
		})
		if !meets(err) {
			b.Fatalf("%s, changed: %q, %v", name, text, err)
		}
		if text := b.taken(name); !strings.HasSuffix(text, "1000") {
			b.Fatalf("%s, after the change: %q", name, text)
		}
	}
	b.changeWaits()
	b.takeWaits()
}

// changeWaits: a confirmation waits for a transaction that has a number of
// the period.
func (b base) changeWaits() {
	b.must(b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
		var text string
		if err := tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('dated')").Scan(&text); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		c := sequence.Confirmation{Floor: new(int64(5000))}
		if err := sequence.Confirm(short, b.st, "dated", c); err == nil {
			return errors.New("a definition was changed under a transaction that has a number")
		}
		return nil
	}))
}

// takeWaits: a call that waits for a change of the definition does not use
// the one of before.
func (b base) takeWaits() {
	xid := ", xid = (txid_current() & 4294967295)::text::xid"
	waiting := "SELECT COUNT(*) FROM pg_locks WHERE NOT granted"
	if b.mariadb != nil {
		xid, waiting = "", "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
	}
	for _, name := range []string{"orders", "dated"} {
		waits := make(chan error, 1)
		b.must(b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE snowfence_lease SET generation = generation + 1"+xid+
				" WHERE namespace = '#"+name+"' AND node = -2")
			if err != nil {
				return err
			}
			go func() {
				_, err := b.take(name)
				waits <- err
			}()
			for n := 0; n == 0; {
				select {
				case err := <-waits:
					return fmt.Errorf("a call did not wait for a change: %w", err)
				case <-time.After(200 * time.Millisecond): // InnoDB shows the same picture for 100 ms
				}
				if err := b.db.QueryRowContext(ctx, waiting).Scan(&n); err != nil {
					return err
				}
			}
			return nil
		}))
		if err := <-waits; !meets(err) {
			b.Fatalf("%s: a call that waited for a change: %v", name, err)
		}
	}
}

// serialRights lets a stranger take numbers, and nothing else.
func serialRights(b base) {
	denied := []string{
		"UPDATE snowfence_lease SET run_from = 0", "SELECT * FROM snowfence_lease",
		"UPDATE snowfence_meta SET value = ''",
	}
	if b.mariadb != nil {
		user := "for_" + b.name
		b.do("CREATE USER '"+user+"'@'%'", "GRANT EXECUTE ON FUNCTION snowfence_serial_text TO '"+user+"'@'%'")
		stranger := b
		stranger.connect("mysql", strings.Replace(b.mariadb.DSN(b.name), "root@", user+"@", 1))
		stranger.wants("orders", "1")
		for _, s := range append(denied, "SELECT snowfence_serial('orders')", "CALL snowfence_take('orders', @a, @b)") {
			stranger.fails("denied", s)
		}
		return
	}
	role := "stranger_" + b.name
	hijack := "LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked as %', current_user; END $$"
	as := []string{
		"SET ROLE " + role, "CREATE TEMP TABLE snowfence_lease (namespace text)", "CREATE TEMP TABLE snowfence_meta (name text)",
		"SET search_path = " + role + ", pg_temp, public, pg_catalog",
	}
	b.do("CREATE ROLE "+role, "CREATE SCHEMA "+role+" AUTHORIZATION "+role, "SET ROLE "+role,
		"SET search_path = "+role, "CREATE FUNCTION md5(text) RETURNS text "+hijack,
		"CREATE FUNCTION random() RETURNS double precision "+hijack,
		"CREATE FUNCTION plus(bigint, integer) RETURNS bigint "+hijack,
		"CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = plus)")
	b.refuses("orders", "42501", as...)
	b.do("GRANT EXECUTE ON FUNCTION snowfence_serial_text(text) TO " + role)
	b.wants("orders", "1", as...)
	b.taken("dated", as...)
	public := strings.NewReplacer(" snowfence_lease", " public.snowfence_lease",
		" snowfence_meta", " public.snowfence_meta")
	for _, s := range append(denied, "SELECT public.snowfence_take('orders')",
		"SELECT public.snowfence_serial('orders')", "SELECT public.snowfence_dated('', '2026-01-01', 1)") {
		b.fails("42501", as[0], public.Replace(s))
	}
	// Who may not ask for the identity learns that before the functions are
	// there.
	b.do("REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC", "DROP FUNCTION snowfence_take CASCADE")
	b.fails("GRANT EXECUTE ON FUNCTION pg_control_system() TO "+role, as[0], b.text)
}

// serialSettings takes numbers under settings with which a crash forgets
// them.
func serialSettings(b base) {
	if b.mariadb == nil {
		c := b.session("SET synchronous_commit = off", "BEGIN", "SELECT snowfence_serial('orders')")
		defer c.end()
		var level string
		if c.scan("SHOW synchronous_commit", &level); level != "on" {
			b.Fatalf("synchronous_commit is %q", level)
		}
		b.refuses("orders", "25006", "SET default_transaction_read_only = on")
		return
	}
	for set, c := range map[string][2]string{
		"innodb_flush_log_at_trx_commit = ": {"2", "1"}, "read_only = ": {"1", "0"},
	} {
		b.do("SET GLOBAL " + set + c[0])
		_, err := b.take("orders")
		b.do("SET GLOBAL " + set + c[1])
		b.failing(err, map[string]string{"2": "forgets", "1": "read_only"}[c[0]])
	}
	// Drivers of Python and Java begin transactions so.
	b.wants("orders", "1", "SET autocommit = 0", "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
}
