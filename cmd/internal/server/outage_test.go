package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/backfill"
)

// An outage begins when the first round trip without an answer began, not
// when a page looked or a timeout ended, and never before the last answer.
func TestOutageHasTheRightTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l StoreLatency
		away := errors.New("connection refused")
		want := func(what string, since time.Time) {
			t.Helper()
			if got, err := l.Outage(); !got.Equal(since) || since.IsZero() != (err == nil) {
				t.Errorf("%s: an outage since %v, %v; want %v", what, got, err, since)
			}
		}
		trip := func(took time.Duration, err error) (began time.Time) {
			began = time.Now()
			time.Sleep(took)
			l.addTrip(OpGet, began, err)
			return began
		}
		trip(time.Millisecond, nil)
		want("an answer", time.Time{})
		time.Sleep(time.Minute)
		first := trip(3*time.Second, away)
		want("one caller may have had no time", time.Time{})
		trip(3*time.Second, context.Canceled)
		want("a caller that has gone", time.Time{})
		trip(3*time.Second, away)
		want("two", first)
		time.Sleep(time.Hour)
		trip(time.Second, away)
		want("an hour later", first)
		trip(time.Second, backfill.ErrFull)
		want("a refusal is an answer", time.Time{})

		before := time.Now()
		time.Sleep(time.Second)
		trip(0, nil)
		answered := time.Now()
		l.addTrip(OpList, before, away) // it hung while another was answered
		trip(time.Second, away)
		want("one that hung", answered)
		trip(time.Second, nil)
		want("the store is back", time.Time{})
	})
}

// Each user of a host is a caller with a limit of its own, and manages
// nothing.
func TestHostAuth(t *testing.T) {
	a := NewHostAuth(4, "x")
	one, two := a.User(1000), a.User(1001)
	if one != a.User(1000) || one == two || one.Name != "user-1000" || two.Name != "user-1001" {
		t.Errorf("%q and %q", one.Name, two.Name)
	}
	for _, id := range []*Identity{one, a.Anyone()} {
		if id.May(VerbLease, "x") != nil || id.May(VerbIDs, "x") != nil || id.May(VerbManage, "x") == nil ||
			id.May(VerbIDs, "y") == nil {
			t.Errorf("%s has other rights", id.Name)
		}
	}
	if n, err := one.nodeLimit(); n != 4 || err != nil {
		t.Errorf("the limit is %d, %v", n, err)
	}
	if Open().User(1000) != nil {
		t.Error("a server tells users apart")
	}
}
