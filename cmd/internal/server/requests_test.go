package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// What is wrong with the server or its store is a warning, once in a while
// with how often it was; what is wrong with a request is a line for those
// who log more; what went well is none.
func TestRequestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := func(level slog.Level, use func(*Service)) []string {
			var log bytes.Buffer
			h := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})
			use(newService(t, newStore(t), Options{Logger: slog.New(h)}))
			return strings.Split(strings.TrimSpace(log.String()), "\n")
		}
		about := func() Request {
			return Request{Name: "GET /v1/{namespace}/next", Namespace: "orders", Caller: "shop", From: "192.0.2.1:5"}
		}
		away := fmt.Errorf("reading: %w", errors.New("the store is unreachable"))
		use := func(s *Service) {
			for range 1000 {
				s.Failed(HTTP, away, about)
			}
			time.Sleep(logInterval)
			s.Failed(HTTP, away, about)
			s.Failed(RESP, away, func() Request { return Request{} })
			s.Failed(HTTP, lease.ErrNoNamespace, about)
			s.Answered(RPC, 1, 1999*time.Millisecond, about)
			s.Answered(RPC, 1, 2*time.Second, about)
			s.Answered(RPC, 1, 2*time.Second, about)
		}
		got := lines(slog.LevelInfo, use)
		want := []string{
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=http request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5`,
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=http request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5 others=999`,
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=resp request=""`,
			`level=WARN msg="a request was slow" took=2s wire=rpc request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5`,
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, not %d: %s", len(got), len(want), strings.Join(got, "\n"))
		}
		for i, line := range got {
			if _, line, _ = strings.Cut(line, " "); line != want[i] {
				t.Errorf("line %d is\n%s, not\n%s", i, line, want[i])
			}
		}
		if n := len(lines(slog.LevelDebug, use)); n != 1000+1+1+1+2 {
			t.Errorf("%d lines where more is logged", n)
		}
	})
}
