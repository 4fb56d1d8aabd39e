package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// A ttl above the longest of the namespace is cut, and the log says so,
// with the cure.
func TestLogOfCutTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]int{15 * time.Second: 0, time.Hour: 1} {
		st := store.NewMemory()
		create(t, st, "orders", "snowfence")
		var log bytes.Buffer
		s := New(st, Options{Label: "a", TTL: ttl, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		sp, err := s.Spaces.Find(t.Context(), "orders")
		if err == nil {
			_, err = sp.Next(t.Context())
		}
		noError(t, err)
		noError(t, s.Close(t.Context()))
		if got := strings.Count(log.String(), "snowfence namespace change orders --max-ttl 1h0m0s"); got != want {
			t.Errorf("ttl %v: %d warnings\n%s", ttl, got, &log)
		}
	}
}
