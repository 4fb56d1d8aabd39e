package insql

import (
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// clockAt stops the clock at a time in UTC.
func clockAt(at string) []string {
	return []string{"SET TimeZone = 'UTC'", "UPDATE test_clock SET at = '" + at + "'"}
}

// pgClockBack takes IDs while the clock stands, and after it stepped back a
// day.
func pgClockBack(b base) {
	var l ledger
	for _, at := range []string{"2027-06-02", "2027-06-02", "2027-06-01", "2027-06-01 12:00", "2027-06-02 00:00:01"} {
		b.do(clockAt(at)...)
		for _, id := range b.next(5) {
			if len(l.ids) > 0 && id <= l.highest() {
				b.Fatalf("%d after %d", id, l.highest())
			}
			l.add(id)
		}
	}
	s := fleet.Scheme(b, "snowfence")
	first := s.Layout().TickOf(time.Date(2027, 6, 2, 0, 0, 0, 0, time.UTC))
	if p, err := s.Decode(l.ids[0]); err != nil || p.Tick != first {
		b.Fatalf("the first ID has tick %d, want the clock's, %d: %v", p.Tick, first, err)
	}
}

// pgAhead checks that IDs run at most the lead ahead of the clock: a call
// waits, or fails.
func pgAhead(b base) {
	b.next(1)
	b.do("UPDATE test_clock SET step = '-1 s'")
	parts, err := fleet.Scheme(b, "snowfence").Decode(b.next(1)[0])
	if ahead := time.Until(parts.Time.Add(time.Second)); err != nil || ahead > 50*time.Millisecond {
		b.Fatalf("it came %v ahead of the clock: %v", ahead, err)
	}
	b.do("UPDATE test_clock SET step = '-1 h'")
	b.none("ahead of the clock", "SET statement_timeout = '20 s'") // or it would sleep for an hour
}

// pgEven lets the clock move on between IDs: their low bits are even all
// the same.
func pgEven(b base) {
	c := b.session()
	defer c.end()
	seen := map[snowfence.ID]bool{}
	for range 64 {
		c.do("UPDATE test_clock SET at = coalesce(at, '2027-01-01') + interval '1 s'")
		seen[c.ids("SELECT snowfence_next()")[0]&63] = true
	}
	if len(seen) != 64 {
		b.Fatalf("64 IDs of 64 seconds have %d endings", len(seen))
	}
}

// pgLifetime sets the clock before the epoch, and after the end of the
// layout's time.
func pgLifetime(b base) {
	for _, at := range []string{"2100-01-01", "1970-01-01"} {
		b.do(clockAt(at)...)
		b.none("no ID for this time")
	}
}
