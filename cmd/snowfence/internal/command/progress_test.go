package command

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
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
		{1, 1<<63 - 1, time.Second, "  0% ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 1 of 9,223,372,036,854,775,807, 1 IDs/s, 292277024626.9 years left"},
		{500, 0, 2 * time.Second, "500, 250 IDs/s"},
		{100, 100, 10 * time.Second, "100% ██████████████████████████████ 100 of 100, 10 IDs/s, 0s left"},
	} {
		n := Tally{Total: c.total}
		n.Done.Store(c.done)
		if got := n.line(c.took); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A run that ends at once draws nothing; one that does not leaves nothing
// behind.
func TestProgressCleansUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := Tally{Total: 10}
		startProgress(&out, n.line).end()
		if out.Len() > 0 {
			t.Errorf("a short run drew %q", out.String())
		}
		bar := startProgress(&out, n.line)
		time.Sleep(1300 * time.Millisecond)
		bar.end()
		if !strings.Contains(out.String(), "0 of 10") || !strings.HasSuffix(out.String(), "\r\x1b[K") {
			t.Errorf("a long run drew %q", out.String())
		}
	})
}
