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
