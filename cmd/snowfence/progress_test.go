package main

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		took        time.Duration
		want        string
	}{
		{0, 100, time.Second, "  0% ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 of 100, 0 IDs/s, ? left"},
		{500_000, 2_000_000, 2 * time.Second, " 25% ███████░░░░░░░░░░░░░░░░░░░░░░░ 500,000 of 2,000,000, 250,000 IDs/s, 6s left"},
		{100, 100, 10 * time.Second, "100% ██████████████████████████████ 100 of 100, 10 IDs/s, 0s left"},
	} {
		if got := progressLine(c.done, c.total, c.took); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A run that ends at once draws nothing; one that does not leaves nothing behind.
func TestProgressCleansUp(t *testing.T) {
	var out bytes.Buffer
	var done atomic.Int64
	startProgress(&out, 10, &done).end()
	if out.Len() > 0 {
		t.Errorf("a short run drew %q", out.String())
	}
	bar := startProgress(&out, 10, &done)
	time.Sleep(1300 * time.Millisecond)
	bar.end()
	if !strings.Contains(out.String(), "0 of 10") || !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("a long run drew %q", out.String())
	}
}
