package insql

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// tagged is a layout with a tag.
const tagged = "time=38,tag=3,node=10,seq=12,epoch=2025-01-01,tick=1ms"

const microseconds = "2006-01-02 15:04:05.000000"

// decodes compares what SQL and Go say of a number.
func (c session) decodes(s *snowfence.Scheme, id snowfence.ID) {
	c.Helper()
	want, wrong := s.Decode(id)
	got, err := c.decode(s, id)
	if want.Time.Year() >= 9999 { // which databases do not have
		got.Time = want.Time
	}
	if (err == nil) != (wrong == nil) || wrong == nil && got != want {
		c.Fatalf("%d is %+v, %v in SQL, and %+v, %v in Go", id, got, err, want, wrong)
	}
}

// decode returns what the functions say of a number, and [sql.ErrNoRows] if
// it is no ID.
func (c session) decode(s *snowfence.Scheme, id snowfence.ID) (p snowfence.Parts, err error) {
	if c.mariadb == nil {
		to := []any{&p.Time, &p.Tick, &p.Node, &p.Sequence, &p.Tag}
		if s.Layout().Bits(snowfence.FieldTag) == 0 {
			to = to[:4]
		}
		err = c.QueryRowContext(c.ctx, "SELECT * FROM snowfence_decode($1)", int64(id)).Scan(to...)
		p.Time = p.Time.UTC()
		return p, err
	}
	var at sql.NullString
	var tick, node, seq, tag sql.NullInt64
	const query = "SELECT JSON_VALUE(d, '$.made_at'), JSON_VALUE(d, '$.tick'), JSON_VALUE(d, '$.node'), " +
		"JSON_VALUE(d, '$.sequence'), JSON_VALUE(d, '$.tag') FROM (SELECT snowfence_decode(?) AS d) x"
	c.must(c.QueryRowContext(c.ctx, query, int64(id)).Scan(&at, &tick, &node, &seq, &tag))
	if !tick.Valid {
		return p, sql.ErrNoRows
	}
	p.Time, _ = time.Parse(microseconds, at.String) // which is compared
	p.Tick, p.Node, p.Sequence, p.Tag = tick.Int64, node.Int64, seq.Int64, tag.Int64
	return p, nil
}

// ranges compares the ends of a range of time with the library's.
func (c session) ranges(s *snowfence.Scheme, at time.Time) {
	c.Helper()
	var from, until int64
	query, args := "SELECT snowfence_from($1), snowfence_until($1)", []any{at}
	if c.mariadb != nil {
		text := at.UTC().Format(microseconds)
		query, args = "SELECT snowfence_from(?), snowfence_until(?)", []any{text, text}
	}
	c.must(c.QueryRowContext(c.ctx, query, args...).Scan(&from, &until))
	// Over the instant at which IDs turn negative a range has no end by
	// itself.
	before := s.Layout().Epoch
	if half, ok := s.Layout().NegativeFrom(); ok && at.After(half) {
		before = half
	}
	if at.Before(before) {
		before = at
	}
	lo, _, errLow := s.Range(at, at)
	_, hi, errHigh := s.Range(before, at)
	c.must(errLow, errHigh)
	if from != int64(lo) || until != int64(hi) {
		c.Fatalf("%v: the library says %d and %d, the database %d and %d", at, lo, hi, from, until)
	}
}

// bothWays compares SQL and Go: fields of any number, and ranges of time.
func bothWays(spec string) func(b base) {
	return func(b base) {
		s := fleet.Scheme(b, spec)
		l := s.Layout()
		c := b.session()
		defer c.end()
		for _, id := range append(b.next(2), -1) {
			c.decodes(s, id)
		}
		r := rand.New(rand.NewPCG(1, 2))
		half := s.MaxTick()/2 + 1
		for i := range 60 {
			tick := r.Int64N(min(s.MaxTick()+1, 8e15))
			if edges := []int64{0, 1, 999, half - 1, half, s.MaxTick()}; i < len(edges) {
				tick = edges[i]
			}
			id, err := s.Compose(snowfence.Parts{Tick: tick, Node: r.Int64N(s.Nodes()), Sequence: r.Int64N(l.Last + 1)})
			b.must(err)
			c.decodes(s, id)
			c.decodes(s, snowfence.ID(r.Uint64()))
			if at := l.TimeOf(tick).Add(time.Duration(i%2) * time.Microsecond); at.Year() < 9999 {
				c.ranges(s, at)
			}
		}
		for _, at := range []time.Time{l.Epoch, l.TimeOf(half - 1), l.TimeOf(half), l.EndOfLife()} {
			for _, d := range []time.Duration{-time.Hour, 0, 1e3, 999e3, 86_399_999_001e3} {
				if at := at.Add(d); at.Year() < 9999 {
					c.ranges(s, at)
				}
			}
		}
		if b.mariadb != nil {
			return
		}
		var low, high int64
		c.scan("SELECT snowfence_from('-infinity'), snowfence_until('infinity')", &low, &high)
		if low != 0 || high <= 0 && l.Width() < 64 {
			b.Fatalf("all time is %d to %d", low, high)
		}
	}
}

// tags compares tags that SQL puts into IDs with those of the library.
// Others are refused.
func tags(b base) {
	s := fleet.Scheme(b, tagged)
	c := b.session()
	defer c.end()
	for tag := range int64(8) {
		id := c.ids(fmt.Sprintf("SELECT snowfence_tag(snowfence_next(), %d)", tag))[0]
		again := c.ids(fmt.Sprintf("SELECT snowfence_tag(%d, 5)", id))[0]
		p, err := s.Decode(id)
		want, also := s.Tag(id, 5)
		if errors.Join(err, also) != nil || p.Tag != tag || p.Node != node || again != want {
			b.Fatalf("%d with the tag %d is %+v, and %d with the tag 5: %v", id, tag, p, again, err)
		}
		c.decodes(s, id)
	}
	for _, tag := range []int64{-1, 8} {
		if c.try(fmt.Sprintf("SELECT snowfence_tag(snowfence_next(), %d)", tag)) == nil {
			b.Fatalf("the tag %d makes an ID", tag)
		}
	}
}

// manyRows makes more rows in one statement than there are numbers in the
// lead: it waits for the clock.
func manyRows(spec string, n int, most time.Duration) func(b base) {
	return func(b base) {
		c := b.session()
		defer c.end()
		l := ledger{ids: c.ids("INSERT INTO orders (item) SELECT seq FROM " + b.series(n) + " RETURNING id")}
		p, err := fleet.Scheme(b, spec).Decode(l.highest())
		if ahead := time.Until(p.Time); err != nil || len(l.ids) != n || ahead > most {
			b.Fatalf("%d IDs ended %v ahead of the clock: %v", len(l.ids), ahead, err)
		}
		b.must(l.repeated())
	}
}

// fields checks what IDs are made of, by the library.
func fields(spec string) func(b base) {
	return func(b base) {
		s := fleet.Scheme(b, spec)
		l := s.Layout()
		began := time.Now()
		var last snowfence.Parts
		slots := map[int64]bool{}
		for _, id := range b.next(200) {
			p, err := s.Decode(id)
			if err != nil || p.Node != node || p.Sequence < l.First || p.Sequence > l.Last || p.Tick < last.Tick {
				b.Fatalf("%d is %+v, after %+v: %v", id, p, last, err)
			}
			// An ID is made while the test waits for it, or up to the lead
			// ahead.
			if p.Time.Before(began.Add(-l.Tick)) || p.Time.After(time.Now().Add(2*time.Second)) {
				b.Fatalf("%d is of %v, made after %v", id, p.Time, began)
			}
			last, slots[p.Sequence] = p, true
		}
		if len(slots) < 50 {
			b.Fatalf("200 IDs have %d sequence numbers", len(slots))
		}
	}
}

// pgParts checks IDs of a layout whose node has parts below the sequence.
func pgParts(b base) {
	s := fleet.Scheme(b, "time=41,seq=4,dc=4,worker=6,epoch=2025-01-01,tick=10ms")
	c := b.session()
	defer c.end()
	ids, now := b.next(20), s.Layout().TickOf(time.Now())
	for _, id := range ids {
		if p, err := s.Decode(id); err != nil || p.Node != node || p.Tick > now+20 || p.Tick < now-60_000 {
			b.Fatalf("%+v, now is %d: %v", p, now, err)
		}
		c.decodes(s, id)
	}
	// The tick of a new ID is the clock's, not the one beside it.
	b.do(clockAt("2027-06-01")...)
	at := s.Layout().TickOf(time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC))
	if p, err := s.Decode(b.next(1)[0]); err != nil || p.Tick != at {
		b.Fatalf("at tick %d: %+v, %v", at, p, err)
	}
}

// pgCopy loads rows by COPY, and shows that a scalar subquery is evaluated
// once.
func pgCopy(b base) {
	c := b.session()
	defer c.end()
	rows := make([][]any, 500)
	for i := range rows {
		rows[i] = []any{int32(i)}
	}
	b.must(c.Raw(func(conn any) error {
		_, err := conn.(*stdlib.Conn).Conn().CopyFrom(c.ctx, pgx.Identifier{"orders"}, []string{"item"},
			pgx.CopyFromRows(rows))
		return err
	}))
	var distinct, once int
	c.scan(`SELECT (SELECT count(DISTINCT id) FROM orders),
		(SELECT count(DISTINCT x) FROM (SELECT (SELECT snowfence_next()) AS x FROM generate_series(1, 10)) y)`,
		&distinct, &once)
	if distinct != 500 || once != 1 {
		b.Fatalf("%d IDs of 500 rows, %d of a scalar subquery", distinct, once)
	}
}

// trigger checks how a client of MariaDB gets the ID of a row.
func trigger(b base) {
	c := b.session()
	defer c.end()
	got := c.ids("INSERT INTO orders (item) VALUES (1), (2) RETURNING id")
	var mine, last int64
	c.scan("SELECT @snowfence_id, LAST_INSERT_ID()", &mine, &last)
	if len(got) != 2 || got[0] == got[1] || int64(got[1]) != mine || last != 0 {
		b.Fatalf("RETURNING %v, @snowfence_id %d, LAST_INSERT_ID() %d", got, mine, last)
	}
	res, err := c.ExecContext(c.ctx, "INSERT INTO orders VALUES (0, 3), (NULL, 4), (77, 5)")
	b.must(err)
	if n, err := res.LastInsertId(); n != 0 || err != nil {
		b.Fatalf("the driver says %d was inserted, %v", n, err)
	}
	// As a scalar subquery it is evaluated for each row or once, as the
	// optimizer likes; by itself, for each row.
	c.do("INSERT INTO orders (item) SELECT seq FROM seq_1_to_1000",
		"INSERT INTO orders SELECT snowfence_next(), seq FROM seq_1_to_1000")
	if c.try("INSERT INTO orders VALUES (0, 6), (0, 7), (77, 8)") == nil {
		b.Fatal("a key twice")
	}
	var rows, given int
	c.scan("SELECT COUNT(DISTINCT id), SUM(id = 77) FROM orders", &rows, &given)
	if rows != 2005 || given != 1 { // a statement that fails leaves no row
		b.Fatalf("%d rows, %d with the ID that was given", rows, given)
	}
}
