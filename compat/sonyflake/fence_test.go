package sonyflake_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	v1 "github.com/snowfence/snowfence/compat/sonyflake/v1"
	"github.com/snowfence/snowfence/internal/tests"
)

// What a state file allows may begin far ahead of a clock that stepped
// back. NextID says so after a second, and does not wait for hours.
func TestFenceFarAheadOfTheClock(t *testing.T) {
	t.Parallel()
	s := must(snowfence.NewScheme(snowfence.MustLayout("sonyflake-v2")))
	ahead := s.Layout().TickOf(time.Now().Add(8 * time.Hour))
	sf := must(sonyflake.NewOn(&later{snowfence.Unguarded(s, 4712), ahead}))
	defer sf.Close()
	var w *snowfence.WaitError
	if id, err := sf.NextID(); !errors.As(err, &w) || !w.Behind || w.Missing < 7*time.Hour || id != 0 {
		t.Errorf("%d, %v", id, err)
	}
}

// later is a fence whose grant begins at a tick.
type later struct {
	snowfence.Fence
	from int64
}

func (f *later) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	gr, err := f.Fence.Grant(ctx, after)
	gr.From = f.from
	return gr, err
}

func TestFencesThatCannotBeShown(t *testing.T) {
	const fields = "time=39,seq=8,node=16,epoch=2025-01-01T00:00:00Z,tick=10ms"
	for _, test := range []struct{ name, layout, why string }{
		{"node above the sequence", "time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms", "node bits above"},
		{"rollback", "time=39,seq=8,rollback=2,node=14,epoch=2025-01-01T00:00:00Z,tick=10ms", "has rollback bits"},
		{"64 bits", "time=40,seq=8,node=16,epoch=2025-01-01T00:00:00Z,tick=10ms", "64 bits"},
		{"no node", "time=39,seq=8,epoch=2025-01-01T00:00:00Z,tick=10ms", "no node"},
		{"no sequence", "time=39,node=8,epoch=2025-01-01T00:00:00Z,tick=10ms", "no sequence"},
		{"odd epoch", strings.Replace(fields, ":00Z", ":00.003Z", 1), "within a tick"},
	} {
		l := must(snowfence.ParseLayout(test.layout))
		f := snowfence.Unguarded(must(snowfence.NewScheme(l)), 0)
		if _, err := sonyflake.NewOn(f); err == nil || !strings.Contains(err.Error(), test.why) ||
			!strings.Contains(err.Error(), fields[:12]) {
			t.Errorf("%s: %v", test.name, err)
		}
		tests.NoError(t, must(snowfence.New(snowfence.Config{Fence: f})).Close()) // the refused fence is free
	}
	l, secret := snowfence.Randflake(), [16]byte{1}
	key := must(snowfence.NewSecret(secret[:]))
	s := must(snowfence.NewScheme(l, key))
	tests.Says(t, errOf(sonyflake.NewOn(snowfence.Unguarded(s, 0))), "encrypted", "encrypted")
	tests.Fails(t, errOf(sonyflake.NewOn(nil)), "nil was accepted")
	tests.Fails(t, errOf(v1.NewOn(nil)), "version 1: nil was accepted")
	bound := snowfence.Unguarded(must(snowfence.NewScheme(snowfence.MustLayout("sonyflake-v2"))), 0)
	sf := must(sonyflake.NewOn(bound))
	defer sf.Close()
	tests.WantErr(t, errOf(sonyflake.NewOn(bound)), snowfence.ErrBound, "a fence for two")
}

// Parts of the node below the sequence are one machine ID, and reserved
// numbers are not used.
func TestOtherLayoutsOfAFence(t *testing.T) {
	l := must(snowfence.ParseLayout("time=33,seq=10,zone=4,worker=6,epoch=2025-01-01T00:00:00Z,tick=100ms,first=5"))
	sf := must(sonyflake.NewOn(snowfence.Unguarded(must(snowfence.NewScheme(l)), 3<<6|9)))
	defer sf.Close()
	id := next(t, sf)
	if p := sf.Decompose(id); p["machine"] != 3<<6|9 || p["sequence"] < 5 {
		t.Errorf("parts %v", p)
	}
	if late := time.Since(sf.ToTime(id)); late < -time.Minute || late > time.Minute {
		t.Errorf("made at %v", sf.ToTime(id))
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }
