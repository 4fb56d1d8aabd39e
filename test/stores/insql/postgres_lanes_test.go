package insql

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// clockStands stops the clock: one that goes on would hide a position that
// comes again.
const clockStands = "UPDATE test_clock SET at = '2027-06-01'"

// pgStalled lets a session stall between its look at the lane and its move,
// while others come.
func pgStalled(b base) {
	var l ledger
	b.do(clockStands)
	gate := b.session("BEGIN", "SELECT pg_advisory_xact_lock(-1, -1)")
	defer gate.end()
	first := b.asking(&l, 1, "SET test.stall = 'on'")
	gate.awaitLocks(1, first)
	second := b.asking(&l, 3)
	gate.awaitLocks(2, second)
	gate.do("ROLLBACK")
	b.must(<-first, <-second, l.repeated())
}

// awaitLocks waits until so many sessions wait for locks, or those that
// should are done.
func (s session) awaitLocks(n int, done chan error) {
	s.Helper()
	for waiting := 0; len(done) == 0 && waiting < n; time.Sleep(10 * time.Millisecond) {
		s.scan(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE NOT granted AND datname = current_database()`, &waiting)
	}
}

// pgCancelled cancels a statement that has the only lane: others get it
// when the transaction ends.
func pgCancelled(b base) {
	c := b.session("SET statement_timeout = '200 ms'")
	defer c.end()
	b.failing(c.try("SELECT snowfence_next(), pg_sleep(1000)"), "57014")
	c.do("SET statement_timeout = 0")
	b.next(1, "SET lock_timeout = '20 s'")
}

// pgSavepoints rolls back to savepoints around IDs, and lets others take
// what becomes free.
func pgSavepoints(b base) {
	var l ledger
	c := b.session(clockStands)
	defer c.end()
	for range 5 {
		for step := range strings.SplitSeq("BEGIN,SAVEPOINT a,SELECT,ROLLBACK TO a,SELECT,RELEASE a,COMMIT", ",") {
			if step == "SELECT" {
				l.add(c.ids("SELECT snowfence_next() FROM generate_series(1, 3)")...)
			} else {
				c.do(step)
			}
			l.add(b.next(2)...)
		}
	}
	b.must(l.repeated())
}

// pgSlices opens a transaction on each lane, and takes more numbers than a
// tick has, while the clock stands: each lane keeps to its slice.
func pgSlices(b base) {
	s := fleet.Scheme(b, "time=41,node=10,seq=6,first=5,epoch=2025-01-01,tick=1ms")
	b.do(clockStands)
	var l ledger
	owner := map[int64]int{} // of each sequence number
	for lane := range 8 {
		c := b.session("BEGIN")
		defer c.end()
		ids := c.ids("SELECT snowfence_next() FROM generate_series(1, 30)")
		l.add(ids...)
		for _, id := range ids {
			p, err := s.Decode(id)
			if was, ok := owner[p.Sequence]; err != nil || ok && was != lane || p.Sequence < 5 || p.Node != node {
				b.Fatalf("%+v is of lanes %d and %d: %v", p, was, lane, err)
			}
			owner[p.Sequence] = lane
		}
	}
	if len(owner) != 56 {
		b.Fatalf("%d sequence numbers were used, want 8 × 7", len(owner))
	}
	b.must(l.repeated())
}

// pgReset resets the sequence of a lane.
func pgReset(b base) {
	b.do(`DO $$ BEGIN FOR i IN 0..63 LOOP
		EXECUTE 'ALTER SEQUENCE snowfence_lane_64_' || i || ' RESTART';
	END LOOP; END $$`)
	b.none("was reset")
	b.do("SELECT snowfence_confirm('0 s')")
	b.next(1)
}

// pgOtherLanes prints the functions with other lanes: they begin above all
// that the old ones took.
func pgOtherLanes(b base) {
	b.do(clockStands)
	var last snowfence.ID // tick of the first lane, ahead of all others
	for i, lanes := range []int{4, 16, 2, 4} {
		b.must(b.load(pgRelaned(b.text, 4, lanes)))
		var l ledger
		b.crowd(&l, 6, 200)
		if first := slices.Min(l.ids) >> 22; first <= last {
			b.Fatalf("print %d: tick %d came again", i, first)
		}
		last = l.highest()>>22 + 2
		b.do(fmt.Sprintf("SELECT setval('snowfence_lane_%d_0', %d)", lanes, last*4096/snowfence.ID(lanes)))
	}
	// A print of later begins where the lanes are. Restored data has to be
	// confirmed before.
	later := pgStart.ReplaceAllString(b.text, "start bigint := 2199023255000;")
	b.must(b.load(pgRelaned(later, 4, 16)))
	b.next(1)
	b.do("UPDATE snowfence_state SET node = node")
	b.failing(b.load(later), "run snowfence_confirm first")
	b.do("SELECT snowfence_confirm('0 s')")
	b.must(b.load(later))
}

var pgStart = regexp.MustCompile(`start bigint := \d+;`)

// pgBusyTable prints other lanes while one transaction has the only lane,
// and another one has written to the table and waits for that lane.
func pgBusyTable(b base) {
	holder := b.session("BEGIN", "INSERT INTO orders (item) VALUES (1)")
	defer holder.end()
	writer := b.session("BEGIN", "INSERT INTO orders (id, item) VALUES (-1, 1)")
	defer writer.end()
	printed, waits := make(chan error, 1), make(chan error, 1)
	go func() { printed <- b.load(pgRelaned(b.text, 1, 2)) }()
	holder.awaitLocks(1, printed)
	go func() {
		err := writer.try("SELECT snowfence_next()") // its lane may be gone meanwhile
		var told *pgconn.PgError
		if errors.As(err, &told) && told.Code == "42P01" {
			err = nil
		}
		waits <- errors.Join(err, writer.try("COMMIT"))
	}()
	holder.awaitLocks(2, waits)
	holder.do("COMMIT")
	b.must(<-printed, <-waits)
	b.next(2)
}

// pgRelaned is the text with other lanes, as the program prints it with
// --lanes.
func pgRelaned(text string, from, to int) string {
	per := 4096 / from
	return strings.NewReplacer(
		fmt.Sprintf("snowfence_lane_%d_", from), fmt.Sprintf("snowfence_lane_%d_", to),
		fmt.Sprintf("%% %d;", from), fmt.Sprintf("%% %d;", to),
		fmt.Sprintf("had.lanes = %d ", from), fmt.Sprintf("had.lanes = %d ", to),
		fmt.Sprintf("lanes = %d;", from), fmt.Sprintf("lanes = %d;", to),
		fmt.Sprintf("lanes = %d,", from), fmt.Sprintf("lanes = %d,", to),
		fmt.Sprintf("0 .. %d - 1", from), fmt.Sprintf("0 .. %d - 1", to),
		fmt.Sprintf(" %d, '', '0'", per), fmt.Sprintf(" %d, '', '0'", 4096/to), fmt.Sprint(per), fmt.Sprint(4096/to),
	).Replace(text)
}

// pgPrepared leaves prepared transactions behind, which keep their lanes.
func pgPrepared(b base) {
	var l ledger
	for i := range 2 {
		if i == 1 { // the other lane is kept by the one before
			b.do(clockStands)
		}
		c := b.session("BEGIN")
		defer c.end()
		l.add(c.ids("SELECT snowfence_next() FROM generate_series(1, 5)")...)
		c.do(fmt.Sprintf("PREPARE TRANSACTION '%s %d'", b.name, i))
	}
	b.none("55P03", "SET lock_timeout = '100 ms'") // both lanes are kept
	for i, end := range []string{"COMMIT", "ROLLBACK"} {
		b.do(fmt.Sprintf("%s PREPARED '%s %d'", end, b.name, i))
	}
	l.add(b.next(5)...)
	b.must(l.repeated())
}
