package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// A quiet namespace of a server put all rows into one of 16 shards, and no
// setting helped.
func TestSpreadOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		st := store.NewMemory()
		create(t, st, "even", "snowfence")
		create(t, st, "quiet", "snowfence")
		create(t, st, "changed", "sonyflake") // since the server began
		var logs bytes.Buffer
		s := New(st, Options{
			Spread: map[string]int64{"even": 16, "changed": 16}, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		})
		defer s.Close(t.Context())
		shards := func(name string) int {
			t.Helper()
			all := map[int64]bool{}
			for range 200 {
				time.Sleep(time.Millisecond)
				id := must(s.one(t.Context(), name))
				all[int64(id)%16] = true
			}
			return len(all)
		}
		if n := shards("even"); n != 16 {
			t.Errorf("with a spread, %d of 16 shards have rows", n)
		}
		if n := shards("quiet"); n > 3 { // the clock is read about once a millisecond
			t.Errorf("another namespace has a spread too: %d shards", n)
		}
		shards("changed")
		text := logs.String()
		if strings.Count(text, "without the spread") != 1 || !strings.Contains(text, "follows them") {
			t.Error(text)
		}
	})
}
