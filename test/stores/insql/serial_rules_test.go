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
func serialProbes(long bool) []probe[serialBase] {
	total := int64(300)
	if long {
		total = 100_000
	}
	return []probe[serialBase]{
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

// each runs steps up to the first error.
func each(steps ...func() error) error {
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// serialSavepoints begins a period in a savepoint, also one that is rolled
// back: the rows look like all others.
func serialSavepoints(b serialBase) error {
	takes := func(steps ...string) error {
		return b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			for _, step := range steps {
				if _, err := tx.ExecContext(ctx, step); err != nil {
					return err
				}
				for _, dated := range []bool{true, false} {
					if err := b.invoice(ctx, tx, dated, false); err != nil {
						return fmt.Errorf("after %s: %w", step, err)
					}
				}
			}
			return nil
		})
	}
	return each(
		func() error { return takes("SAVEPOINT a", "ROLLBACK TO SAVEPOINT a") },
		b.looksOwn,
		func() error { return b.run("DELETE FROM invoice", "INSERT INTO invoice VALUES (0, 2)") },
		func() error {
			year := time.Now().In(time.FixedZone("", 3600)).Year()
			return b.run(fmt.Sprintf("INSERT INTO invoice VALUES (%d, 2)", year))
		},
		func() error { return takes("SAVEPOINT a", "SAVEPOINT b", "RELEASE SAVEPOINT b") },
		b.looksOwn,
	)
}

// serialPatterns compares texts and periods with those of Go, for all
// fields of patterns.
func serialPatterns(b serialBase) error {
	for _, pattern := range []string{
		"RE-{year}-{n:6}", "{yy}{month}{day}{n}", "{n:18}/{yy}", "{year}Q{quarter}.{n:2+}", "{year}W{week}-{n}",
		"{yy}{week}{n:3+}{luhn}", "{fy:4}-{fyyend:4}/{n:4}", "{fyend:10}{month}{n}", "{fyy:12}{quarter}{n:5}{luhn}",
		"{year}-{month:shown}-{day:shown}-{n:5}", "{fyyend:7}/{quarter:shown}/{month:shown}/{n}",
		"{fy:1}{fyend:1}{n}", "ünß {year} №{n:3}{luhn}", "{fyy:4}{fyyend:4}{month}{day}{n}",
	} {
		d := sequence.Definition{Mode: sequence.Strict, Pattern: pattern}
		for _, day := range []string{
			"2026-01-01", "2027-01-01", "2024-02-29", "2026-03-31", "2026-04-01", "2026-12-31", "2021-01-03",
			"2020-12-31", "2099-12-31", "2000-01-01", "2100-01-01", "1999-12-31", "2026-09-30", "2026-10-01",
			"2025-12-29", "2026-07-01", "2099-04-01",
		} {
			for _, n := range []int64{0, 7, 123456, 1 << 52} {
				if err := b.samePattern(d, day, n); err != nil {
					return fmt.Errorf("%s on %s: %w", pattern, day, err)
				}
			}
		}
	}
	return nil
}

func (b *serialBase) samePattern(d sequence.Definition, day string, n int64) error {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	period, ended := d.Period(at)
	got, want := sequence.Serial{}, sequence.Serial{}
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
		return failing(err, "no place for")
	}
	if err != nil {
		return err
	}
	taken := int64(at.Year()*10_000 + int(at.Month())*100 + at.Day())
	of, err := sequence.Serials{Period: period, First: n, Count: 1, Taken: taken}.Of(d)
	if want = of.At(0); err != nil || got.Period != want.Period || got.Text != want.Text {
		return fmt.Errorf("SQL says %+v, and Go %+v: %w", got, want, err)
	}
	return nil
}

// serialZones begins a period at midnight of the zone. CET has summer time,
// as a zone; as an abbreviation it has none.
func serialZones(b serialBase) error {
	if err := b.create("cet", sequence.Definition{Pattern: "{year}{month}/{n}", Zone: "CET"}); err != nil {
		return err
	}
	for _, c := range []struct{ name, at, want string }{
		{"dated", "2026-12-31T22:59:59Z", "RE-2026-000001"},
		{"dated", "2026-12-31T23:00:00Z", "RE-2027-000001"},
		{"cet", "2026-07-31T21:59:59Z", "202607/1"},
		{"cet", "2026-07-31T22:00:00Z", "202608/1"},
		{"cet", "2026-07-31T20:00:00Z", "202607/2"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err == nil {
			err = b.wants(c.name, c.want, append(b.at(at), b.setZone())...)
		}
		if err != nil {
			return fmt.Errorf("at %s: %w", c.at, err)
		}
	}
	return nil
}

// setZone gives a session another zone.
func (b *serialBase) setZone() string {
	if b.mariadb != nil {
		return "SET time_zone = '-11:00'"
	}
	return "SET timezone = 'Pacific/Apia'"
}

// serialWithoutZones has dates in UTC alone.
func serialWithoutZones(b serialBase) error {
	return each(
		func() error { return b.create("utc", sequence.Definition{Pattern: "{year}{n:4+}"}) },
		func() error { return b.wants("utc", fmt.Sprintf("%d0001", time.Now().UTC().Year())) },
		func() error { return b.refuses("dated", "mariadb-tzinfo-to-sql") },
		func() error { return b.wants("orders", "1") },
	)
}

// serialCourses counts up to the end, in every direction.
func serialCourses(b serialBase) error {
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
		err := b.create(name, sequence.Definition{Start: &c.start, Step: c.step, Max: &c.last})
		if err != nil {
			return err
		}
		for _, want := range c.want {
			if err := b.wants(name, want); err != nil {
				return err
			}
		}
		if err := b.refuses(name, "no number left"); err != nil {
			return err
		}
	}
	ctx := context.Background()
	return each(
		func() error { return sequence.Update(ctx, b.st, "course0", sequence.Changes{Max: new(int64(3))}) },
		func() error { return b.wants("course0", "3") },
		func() error { return b.refuses("course0", "no number left") },
		func() error {
			return b.create("digit", sequence.Definition{Pattern: "{year}{n:1}", Start: new(int64(9))})
		},
		func() error { return b.wants("digit", fmt.Sprint(time.Now().UTC().Year(), "9")) },
		func() error { return b.refuses("digit", "no number left") },
	)
}

// serialRefusals asks for numbers that there are not.
func serialRefusals(b serialBase) error {
	ctx := context.Background()
	data := func(set string) func() error {
		change := "UPDATE snowfence_lease SET data = " + set + " WHERE namespace = '#orders'"
		if b.mariadb == nil {
			change = "WITH x AS (" + change + " RETURNING 1) SELECT 1"
			change = strings.Replace(change, " WHERE", ", xid = (txid_current() & 4294967295)::text::xid WHERE", 1)
		}
		return func() error { return b.run(change) }
	}
	return each(
		func() error { return b.refuses("others", "create it") },
		func() error { return sequence.Create(ctx, b.st, "dense", sequence.Definition{Mode: sequence.Dense}) },
		func() error { return b.refuses("dense", "starts above") },
		func() error { return b.wants("orders", "1") },
		func() error { return sequence.Delete(ctx, b.st, "orders") },
		func() error { return b.refuses("orders", "create it") },
		func() error { return b.create("orders", sequence.Definition{}) },
		func() error { return b.wants("orders", "2") },
		data(`replace(data, '"mode"', '"news":1,"mode"')`),
		func() error { return b.refuses("orders", "later version") },
		data(`replace(data, '"news":1,"mode"', '"mode"')`),
		func() error { return b.wants("orders", "3") },
		data(`replace(data, '"moved":{', '"moved":{"to":"etcd",')`),
		func() error { return b.refuses("orders", "was moved") },
		data(`replace(data, '"to":"etcd"', '"from":"etcd"')`),
		func() error { return b.refuses("orders", "was moved") },
	)
}

// serialConfirmed takes numbers above a floor after a confirmation, and
// none of a period that it closed.
func serialConfirmed(b serialBase) error {
	ctx, now := context.Background(), time.Now()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	text := func(n int) string { return fmt.Sprintf("RE-%d-%06d", now.In(berlin).Year(), n) }
	confirm := func(name string, floor int64) func() error {
		return func() error { return sequence.Confirm(ctx, b.st, name, sequence.Confirmation{Floor: &floor}) }
	}
	return each(
		confirm("orders", 100),
		func() error { return b.wants("orders", "100") },
		func() error { return b.wants("dated", text(1), b.at(now)...) },
		confirm("dated", 50),
		func() error { return b.wants("dated", text(50), b.at(now)...) },
		confirm("dated", 20), // the higher floor counts
		func() error { return b.wants("dated", text(51), b.at(now)...) },
		func() error { return b.refuses("dated", "was closed", b.at(now.AddDate(-2, 0, 0))...) },
		func() error {
			next := now.AddDate(1, 0, 0) // which is open, and begins at the floor
			return b.wants("dated", fmt.Sprintf("RE-%d-%06d", next.In(berlin).Year(), 50), b.at(next)...)
		},
		func() error {
			next := now.AddDate(3, 0, 0) // nothing was given there
			return b.wants("dated", fmt.Sprintf("RE-%d-%06d", next.In(berlin).Year(), 1), b.at(next)...)
		},
	)
}

// serialPutBack puts back each row that counts.
func serialPutBack(b serialBase) error {
	open := func() error {
		for _, name := range []string{"orders", "dated"} {
			_, _ = sequence.Show(context.Background(), b.st, name) // gives the data another identity
			c := sequence.Confirmation{Floor: new(int64(1))}
			if err := sequence.Confirm(context.Background(), b.st, name, c); err != nil {
				return err
			}
			if _, err := b.take(name); err != nil {
				return err
			}
		}
		return nil
	}
	if err := open(); err != nil {
		return err
	}
	for what, c := range map[string]struct {
		where    string
		affected []string
	}{
		"definition": {"namespace = '#orders'", []string{"orders"}},
		"period":     {"namespace = '#dated' AND node > 0", []string{"dated"}},
		"dated":      {"namespace = '#dated' AND node < 0", []string{"dated"}},
		"all":        {"node > -3", []string{"orders", "dated"}},
	} {
		if err := b.run("CREATE TABLE saved AS SELECT * FROM snowfence_lease WHERE "+c.where,
			"DELETE FROM snowfence_lease WHERE "+c.where, "INSERT INTO snowfence_lease SELECT * FROM saved",
			"DROP TABLE saved"); err != nil {
			return err
		}
		for _, name := range c.affected {
			if err := b.refuses(name, "lost"); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		if err := open(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	back := "UPDATE snowfence_meta SET value = value WHERE name = 'id'"
	if b.mariadb != nil {
		back = "REPLACE INTO snowfence_meta (name, value) SELECT name, value FROM snowfence_meta WHERE name = 'id'"
	}
	return each(func() error { return b.run(back) },
		func() error { return b.refuses("orders", "lost") }, func() error { return b.refuses("dated", "lost") })
}

// serialAnotherServer has a record that says it is of another server, and
// the reactions to that.
func serialAnotherServer(b serialBase) error {
	ctx := context.Background()
	restored := func() error {
		_, err := sequence.Restored(ctx, b.st, "orders")
		return err
	}
	after := func(reaction int64) func() error {
		return func() error {
			return sequence.Update(ctx, b.st, "orders", sequence.Changes{AfterFailover: &reaction})
		}
	}
	identity := func(was, is string) func() error {
		change := "WITH x AS (UPDATE snowfence_lease SET data = regexp_replace(data, '" + was + "', '" + is + "'), " +
			"xid = (txid_current() & 4294967295)::text::xid WHERE namespace = '#orders' RETURNING 1) SELECT 1"
		return func() error { return b.run(change) }
	}
	if b.mariadb == nil { // the program that made the sequence may not ask for the cluster's number
		err := each(
			identity(`"postgres:\d+:`, `"postgres:-:`), func() error { return b.wants("orders", "1") },
			identity(`"postgres:-:(\d+):`, `"postgres:-:2\1:`), func() error { return b.refuses("orders", "may have lost") },
			identity(`"postgres:-:2(\d+):`, `"postgres:-:\1:`), func() error { return b.wants("orders", "2") },
			identity(`"postgres:-:(\d+):[^"]*"`, `"postgres:-:\1"`), func() error { return b.refuses("orders", "may have lost") },
		)
		if err != nil {
			return err
		}
		c := sequence.Confirmation{Floor: new(int64(1))}
		if err := errors.Join(sequence.Delete(ctx, b.st, "orders"), b.create("orders", sequence.Definition{}),
			sequence.Confirm(ctx, b.st, "orders", c)); err != nil {
			return err
		}
	}
	first, err := b.take("orders")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return err
	}
	return each(
		restored,
		func() error { return b.refuses("orders", "may have lost numbers") },
		after(sequence.Trust),
		func() error { return b.wants("orders", fmt.Sprint(n+1)) },
		after(10),
		func() error { return b.refuses("orders", "may have lost numbers") },
		func() error { // skips them
			s, err := sequence.Open(ctx, b.st, "orders", nil)
			if err != nil {
				return err
			}
			defer s.Close()
			if got, err := s.Next(ctx); err != nil || got != n+12 {
				return fmt.Errorf("Next gave %d: %w", got, err)
			}
			return nil
		},
		func() error { return b.wants("orders", fmt.Sprint(n+13)) },
	)
}

// serialIsolation takes numbers in transactions that see the past.
func serialIsolation(b serialBase) error {
	for _, name := range []string{"orders", "dated"} {
		if _, err := b.take(name); err != nil {
			return err
		}
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
			if b.mariadb == nil && !meets(err) || b.mariadb != nil && err != nil && !meets(err) {
				return fmt.Errorf("%s, %v: %d, %w", name, level, got, err)
			}
		}
	}
	return b.countsOn()
}

// countsOn compares the next numbers with those of Go.
func (b *serialBase) countsOn() error {
	for _, name := range []string{"orders", "dated"} {
		text, err := b.take(name)
		if err != nil {
			return err
		}
		err = b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			n, err := strconv.ParseInt(text[strings.LastIndexByte(text, '-')+1:], 10, 64)
			if err != nil {
				return err
			}
			s, err := sqlstore.SequenceTx(ctx, tx, b.dialect, name)
			if err != nil || s.N != n+1 {
				return fmt.Errorf("%s gave %q, and then Go %+v: %w", name, text, s, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serialChanged confirms a sequence while a transaction has read it: its
// number is not below the floor.
func serialChanged(b serialBase) error {
	for _, name := range []string{"orders", "dated"} {
		if _, err := b.take(name); err != nil {
			return err
		}
		var text string
		err := b.in(sql.LevelRepeatableRead, func(ctx context.Context, tx *sql.Tx) error {
			var n int
			if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM snowfence_lease").Scan(&n); err != nil {
				return err
			}
			err := sequence.Confirm(ctx, b.st, name, sequence.Confirmation{Floor: new(int64(1000))})
			if err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('"+name+"')").Scan(&text)
		})
		if !meets(err) {
			return fmt.Errorf("%s, changed: %q, %w", name, text, err)
		}
		if text, err = b.take(name); err != nil || !strings.HasSuffix(text, "1000") {
			return fmt.Errorf("%s, after the change: %q, %w", name, text, err)
		}
	}
	return errors.Join(b.changeWaits(), b.takeWaits())
}

// changeWaits: a confirmation waits for a transaction that has a number of
// the period.
func (b *serialBase) changeWaits() error {
	return b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
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
	})
}

// takeWaits: a call that waits for a change of the definition does not use
// the one of before.
func (b *serialBase) takeWaits() error {
	for _, name := range []string{"orders", "dated"} {
		waits := make(chan error, 1)
		err := b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			xid := ", xid = (txid_current() & 4294967295)::text::xid"
			waiting := "SELECT COUNT(*) FROM pg_locks WHERE NOT granted"
			if b.mariadb != nil {
				xid, waiting = "", "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
			}
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
		})
		if err != nil {
			return err
		}
		if err := <-waits; !meets(err) {
			return fmt.Errorf("%s: a call that waited for a change: %w", name, err)
		}
	}
	return nil
}

// serialRights lets a stranger take numbers, and nothing else.
func serialRights(b serialBase) error {
	denied := []string{
		"UPDATE snowfence_lease SET run_from = 0", "SELECT * FROM snowfence_lease",
		"UPDATE snowfence_meta SET value = ''",
	}
	if b.mariadb != nil {
		dsn := b.dsn
		name := dsn[strings.LastIndexByte(dsn, '/')+1:]
		err := b.run("CREATE USER 'for_"+name+"'@'%'",
			"GRANT EXECUTE ON FUNCTION snowfence_serial_text TO 'for_"+name+"'@'%'")
		if err != nil {
			return err
		}
		db, err := sql.Open("mysql", strings.Replace(dsn, "root@", "for_"+name+"@", 1))
		if err != nil {
			return err
		}
		defer db.Close()
		stranger := b
		stranger.db = db
		if err := stranger.wants("orders", "1"); err != nil {
			return err
		}
		for _, s := range append(denied, "SELECT snowfence_serial('orders')", "CALL snowfence_take('orders', @a, @b)") {
			if err := failing(stranger.run(s), "denied"); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	role := "stranger_" + b.dsn[strings.LastIndexByte(b.dsn, '/')+1:strings.LastIndexByte(b.dsn, '?')]
	hijack := "LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked as %', current_user; END $$"
	as := []string{
		"SET ROLE " + role, "CREATE TEMP TABLE snowfence_lease (namespace text)", "CREATE TEMP TABLE snowfence_meta (name text)",
		"SET search_path = " + role + ", pg_temp, public, pg_catalog",
	}
	err := each(
		func() error {
			return b.run("CREATE ROLE "+role, "CREATE SCHEMA "+role+" AUTHORIZATION "+role, "SET ROLE "+role,
				"SET search_path = "+role, "CREATE FUNCTION md5(text) RETURNS text "+hijack,
				"CREATE FUNCTION random() RETURNS double precision "+hijack,
				"CREATE FUNCTION plus(bigint, integer) RETURNS bigint "+hijack,
				"CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = plus)")
		},
		func() error { return b.refuses("orders", "42501", as...) },
		func() error {
			return b.run("GRANT EXECUTE ON FUNCTION snowfence_serial_text(text) TO " + role)
		},
		func() error { return b.wants("orders", "1", as...) },
		func() error { _, err := b.take("dated", as...); return err },
	)
	for _, s := range append(denied, "SELECT public.snowfence_take('orders')",
		"SELECT public.snowfence_serial('orders')", "SELECT public.snowfence_dated('', '2026-01-01', 1)") {
		if err == nil {
			s = strings.NewReplacer(" snowfence_lease", " public.snowfence_lease", " snowfence_meta",
				" public.snowfence_meta").Replace(s)
			err = failing(b.run("SET ROLE "+role, s), "42501")
		}
	}
	if err == nil { // who may not ask for the identity learns that before the functions are there
		err = b.run("REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC", "DROP FUNCTION snowfence_take CASCADE")
	}
	if err == nil {
		err = failing(b.run("SET ROLE "+role, b.text), "GRANT EXECUTE ON FUNCTION pg_control_system() TO "+role)
	}
	return err
}

// serialSettings takes numbers under settings with which a crash forgets
// them.
func serialSettings(b serialBase) error {
	if b.mariadb == nil {
		var level string
		err := b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "SELECT snowfence_serial('orders')"); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&level)
		}, "SET synchronous_commit = off")
		if err != nil || level != "on" {
			return fmt.Errorf("synchronous_commit is %q: %w", level, err)
		}
		return b.refuses("orders", "25006", "SET default_transaction_read_only = on")
	}
	for _, c := range []struct{ set, reset, why string }{
		{"innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1", "forgets"},
		{"read_only = 1", "read_only = 0", "read_only"},
	} {
		err := b.refuses("orders", c.why, "SET GLOBAL "+c.set)
		if err := errors.Join(err, b.run("SET GLOBAL "+c.reset)); err != nil {
			return err
		}
	}
	// Drivers of Python and Java begin transactions so.
	return b.wants("orders", "1", "SET autocommit = 0", "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
}
