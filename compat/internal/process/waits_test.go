package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// refusing is a fence that refuses at once, from its second grant on.
type refusing struct {
	scheme *snowfence.Scheme
	asked  int
	until  time.Time
}

func (f *refusing) Scheme() *snowfence.Scheme { return f.scheme }

func (f *refusing) Held(int64) (snowfence.Grant, bool) { return snowfence.Grant{}, false }

func (f *refusing) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	f.asked++
	if f.asked > 1 && f.asked < 10_000 && time.Now().Before(f.until) {
		return snowfence.Grant{}, errors.New("the store is away")
	}
	return snowfence.Grant{Node: 1, From: after, Until: after + 1000}, nil
}

func (f *refusing) Release(context.Context, snowfence.Grant, int64) error { return nil }

// bubble is Twitter's division with an epoch before the time in which
// synctest begins.
const bubble = "time=41,node=10,seq=12,epoch=1990-01-01"

// bubbleTime is a TimeSource: the bubble's time, and no fast path.
func bubbleTime() snowfence.TimeSource {
	start := time.Now()
	return func() (time.Time, time.Duration) { return time.Now(), time.Since(start) }
}

// While a fence is without a grant, calls wait for it: they ask now and
// then, report once a minute, and go on when it has one.
func TestFenceThatRefusesIsAskedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		old := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(old)
		f := &refusing{scheme: scheme(bubble), until: time.Now().Add(10 * time.Minute)}
		h := must(On(f, Options{Time: bubbleTime()}))
		start := time.Now()
		time.Sleep(2 * time.Second) // its grant is over
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		wantErr(t, errOf(h.Next(ctx)), snowfence.ErrFenced, "Next until the end of its context")
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("it waited %v", waited)
		}
		if id := h.Must(); id == 0 {
			t.Error("Must returned 0")
		}
		if waited := time.Since(start); waited < 10*time.Minute || waited > 10*time.Minute+2*time.Second {
			t.Errorf("it waited %v", waited)
		}
		if f.asked > 700 {
			t.Errorf("the fence was asked %d times", f.asked)
		}
		if lines := strings.Count(log.String(), "\n"); lines < 8 || lines > 11 ||
			!strings.Contains(log.String(), "the store is away") {
			t.Errorf("%d lines in the log:\n%s", lines, &log)
		}
		noError(t, h.Close())
	})
}

// A call that waits for the clock ends soon after Close.
func TestCloseEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSet()
		clk := newClock()
		o := Options{Time: clk.Now}
		clk.Step(time.Hour)
		a := open(t, r, bubble, 1, o)
		must(a.TryNext())
		_ = a.Close()
		clk.Step(-time.Hour)
		b := open(t, r, bubble, 1, o) // an hour behind
		go func() {
			time.Sleep(10 * time.Second)
			_ = b.Close()
		}()
		start := time.Now()
		wantErr(t, errOf(b.Next(t.Context())), snowfence.ErrClosed, "Next")
		if waited := time.Since(start); waited < 10*time.Second || waited > 12*time.Second {
			t.Errorf("it waited %v", waited)
		}
	})
}

// The first ID of all, tick 0 of node 0, is 0. Must leaves it out.
func TestMustNeverReturnsZero(t *testing.T) {
	clk := newClock()
	s := scheme("time=41,node=10,seq=12,epoch=" + clk.Wall.Format(time.RFC3339))
	for range 3 {
		h := must(newSet().open(s, 0, Options{Time: clk.Now}))
		if id := h.Must(); id != 1 {
			t.Errorf("Must returned %d", id)
		}
		ids := make([]snowfence.ID, 3)
		fresh := must(newSet().open(s, 0, Options{Time: clk.Now}))
		if fresh.MustFill(ids); ids[0] != 1 || ids[1] != 2 || ids[2] != 3 {
			t.Errorf("MustFill wrote %v", ids)
		}
	}
}

// Calls over a lease that was closed, or after the last tick, wait in vain.
func TestFinalErrors(t *testing.T) {
	for _, err := range []error{
		snowfence.ErrClosed, snowfence.ErrLifetime,
		&snowfence.WaitError{Reason: snowfence.ErrFenced, Cause: snowfence.ErrClosed},
		&snowfence.WaitError{Reason: snowfence.ErrFenced, Cause: snowfence.ErrLifetime},
	} {
		var w waits
		if got := w.out(t.Context(), err, func() error { return nil }); got != err {
			t.Errorf("%v: %v", err, got)
		}
	}
}
