package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

// What leases say about trouble becomes an event, also where nothing is logged; and it is logged no less.
func TestTroubleOfLeasesIsAnEvent(t *testing.T) {
	var text strings.Builder
	for _, logger := range []*slog.Logger{slog.New(slog.DiscardHandler), slog.New(slog.NewTextHandler(&text, nil))} {
		s := New(lease.NewMemory(), Options{Logger: logger})
		s.opts.Logger.Warn("lease lost", "namespace", "orders", "cause", errors.New("node 7 was changed by somebody else"))
		s.opts.Logger.Warn("something else")
		list, _, stop := s.Events.Watch()
		stop()
		if len(list) != 1 || list[0].Kind != "lost" || list[0].Namespace != "orders" || !strings.Contains(list[0].Text, "node 7") {
			t.Errorf("%+v", list)
		}
	}
	if n := strings.Count(text.String(), "\n"); n != 2 {
		t.Errorf("%d lines were logged, want 2:\n%s", n, text.String())
	}
}
