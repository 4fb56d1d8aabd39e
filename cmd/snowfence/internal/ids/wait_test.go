package ids

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// A wait says how long it takes, and whether it ends by itself.
func TestExplainWait(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	grant := snowfence.Grant{Node: 1, From: s.Layout().TickOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}
	from := s.Layout().TimeOf(grant.From)
	for _, c := range []struct {
		ahead time.Duration
		said  string
		err   string
	}{
		{time.Second, "", ""},
		{45 * time.Second, "snowfence: the first ID can be made in 45s; this command waits, and you need to do nothing: it is cold\n", ""},
		{time.Minute, "snowfence: the first ID can be made in 1m0s; this command waits, and you need to do nothing: it is cold\n", ""},
		{time.Hour, "", "the first ID can be made in 1h0m0s, and this command waits 1m0s at most, so run it again then: it is cold"},
	} {
		var said strings.Builder
		e := &command.Env{Stderr: &said, Now: func() time.Time { return from.Add(-c.ahead) }}
		src := &source{fence: snowfence.Unguarded(s, 1), whyLater: func(context.Context,
			snowfence.Grant,
		) string {
			return "it is cold"
		}}
		err := explainWait(t.Context(), e, grant, src, 0)
		if said.String() != c.said || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v ahead: %q, %v", c.ahead, said.String(), err)
		}
	}
}

// The longest run has a length that one can read.
func TestExplainRate(t *testing.T) {
	for n, want := range map[int64]string{
		1<<63 - 1:     "so this takes 71356.7 years;",
		4_096_000:     "",
		3 * 4_096_000: "so this takes 3s;",
	} {
		var stderr bytes.Buffer
		explainRate(&command.Env{Stderr: &stderr}, snowfence.MustLayout("twitter"), n)
		if got := stderr.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%d IDs: %q", n, got)
		}
	}
}
