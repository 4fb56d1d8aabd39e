package insql

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// unique makes IDs in several sessions, and looks whether the table of
// positions is empty afterwards.
func unique(b base) {
	b.crowd(new(ledger), 8, 400)
	c := b.session()
	defer c.end()
	if left := c.ids("SELECT position FROM snowfence_position"); len(left) > 0 {
		b.Fatalf("%d positions are left in the table", len(left))
	}
}

// stalled stops two calls of the same tick between their look at the
// position and the move to now, and lets them go on one after the other,
// with other calls in between. The first one's transaction stays open: no
// call waits for it.
func stalled(b base) {
	const before = "    INSERT INTO snowfence_position VALUES (moved, CONNECTION_ID());"
	const stall = "    DO IF(@stall IS NULL, 0, GET_LOCK(@stall, 60) + RELEASE_LOCK(@stall));\n"
	if strings.Count(b.text, before) != 1 {
		b.Fatal("the text has no place to stall at")
	}
	b.must(b.load(strings.Replace(b.text, before, stall+before, 1)))
	b.do("TRUNCATE snowfence_position") // the counter begins at 1 again, far behind now
	var l ledger
	holder := b.session()
	defer holder.end()
	made := make(chan error, 2)
	locks := []string{b.name + ".a", b.name + ".b"}
	for i, lock := range locks {
		holder.do("DO GET_LOCK('" + lock + "', 60)")
		c := b.session("SET @stall = '" + lock + "', innodb_lock_wait_timeout = 5, autocommit = 0")
		defer c.end()
		go func() {
			got, err := selected(c.ctx, c, "SELECT snowfence_next()")
			l.add(got...)
			made <- err
		}()
		for waits := 0; waits <= i; { // in the lock, after the position was taken
			holder.scan("SELECT COUNT(*) FROM information_schema.processlist"+
				" WHERE db = DATABASE() AND state = 'User lock'", &waits)
		}
	}
	for _, lock := range locks {
		holder.do("DO RELEASE_LOCK('" + lock + "')")
		b.must(<-made)
		l.add(holder.ids("SELECT snowfence_next() FROM seq_1_to_3000")...)
	}
	b.must(l.repeated())
}

func firstCalls(b base) {
	var l ledger
	var calls []chan error
	for range 16 {
		calls = append(calls, b.asking(&l, 1))
	}
	var all error
	for _, call := range calls {
		all = errors.Join(all, <-call)
	}
	b.must(all, l.repeated())
}

// even checks that the low bits of IDs that are rarely made are even.
func even(b base) {
	low := map[snowfence.ID]int{}
	for _, id := range b.next(64) {
		low[id%16]++
	}
	if len(low) < 8 {
		b.Fatalf("64 IDs have %d of the 16 values of the lowest bits", len(low))
	}
}

// tooFar checks that a call does not wait longer than it was told.
func tooFar(b base) {
	s := fleet.Scheme(b, "time=36,node=10,seq=2")
	// The counter as it is after the clock stepped back by a minute.
	at := func(tick int64) string { return fmt.Sprintf("INSERT INTO snowfence_position VALUES (%d, 0)", tick*4) }
	b.do(at(s.Layout().TickOf(time.Now()) + 60_000))
	b.none("too far ahead of the clock")
	b.do(at(s.MaxTick() + 1))
	b.none("no ID for this time")
	b.fails("above all times of the layout", "CALL snowfence_confirm(0)")
}

// beyond sets the clock beyond the layout and right again: the counter
// stays where it was.
func beyond(b base) {
	b.must(b.load(strings.Replace(b.text, "+ since - (", "+ since + 2199023255552000 - (", 1)))
	b.none("no ID for this time")
	b.must(b.load(b.text))
	b.next(1)
}

// increment checks servers that count in steps, as in a ring of two
// primaries.
func increment(b base) {
	var l ledger
	for range 3 {
		for _, step := range []string{"1", "10"} {
			c := b.session("SET auto_increment_increment = " + step + ", auto_increment_offset = 3")
			l.add(c.ids("SELECT snowfence_next() FROM seq_1_to_50")...)
			c.end()
		}
	}
	b.must(l.repeated())
}

// timeOfSession checks that neither the zone nor the clock of a session
// changes the time of an ID.
func timeOfSession(b base) {
	s := fleet.Scheme(b, "snowfence")
	const zone = "INSERT IGNORE INTO mysql.time_zone"
	b.do(zone+" VALUES (9998, 'N'), (9999, 'N')",
		zone+"_name VALUES ('Summer ends', 9998), ('Summer began', 9999)",
		zone+"_transition_type VALUES (9998, 0, 0, 0, ''), (9998, 1, 3600, 1, '')",
		zone+"_transition_type VALUES (9999, 0, 0, 0, ''), (9999, 1, 3600, 1, '')",
		zone+"_transition VALUES (9998, -2000000000, 1), (9998, UNIX_TIMESTAMP() + 1800, 0)",
		zone+"_transition VALUES (9999, -2000000000, 0), (9999, UNIX_TIMESTAMP() - 300, 1)")
	for _, set := range []string{
		"time_zone = '+09:00'", "timestamp = 2000000000", "time_zone = 'Summer ends'",
		"time_zone = 'Summer ends', timestamp = 1000", "time_zone = 'Summer began', timestamp = UNIX_TIMESTAMP() - 600",
	} {
		began := time.Now()
		p, err := s.Decode(b.next(1, "SET "+set)[0])
		if err != nil || p.Time.Before(began.Add(-2*time.Millisecond)) || p.Time.After(time.Now().Add(time.Second)) {
			b.Fatalf("with %s an ID is of %v, made after %v: %v", set, p.Time, began, err)
		}
	}
}
