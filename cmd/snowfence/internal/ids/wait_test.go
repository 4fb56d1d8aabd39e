package ids

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// What is said of a node whose IDs begin later is what is known of its last
// holder.
func TestWhyLeasedLater(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout := snowfence.MustLayout("twitter")
	s, err := snowfence.NewScheme(layout)
	if err != nil {
		t.Fatal(err)
	}
	mem := store.NewMemory()
	if _, err := scope.Namespaces(mem).Create(t.Context(), "default", s, nil); err != nil {
		t.Fatal(err)
	}
	e := &command.Env{Now: func() time.Time { return now }}
	f := &newFlags{store: command.StoreFlags{Namespace: "default"}}
	record := func(holder string, at, until time.Duration, unbroken bool) *store.Record {
		r := &store.Record{
			Nonce: "x", Generation: 1, Holder: holder, At: now.Add(at).UnixMilli(),
			Until: layout.TickOf(now.Add(until)),
		}
		if r.From = r.Until - 1000; unbroken {
			r.From, r.PrevUntil = 5, 5
		}
		return r
	}
	for _, c := range []struct {
		before *store.Record
		until  time.Duration
		want   string
	}{
		{record("h", -time.Second, 4*time.Second, true), 4 * time.Second, "node 7 is used up to 2026-06-01T12:00:04Z, because it was not given back by its last holder (a crash, or it still runs); another"},
		{record("h", time.Hour, time.Hour, false), time.Hour, "(a crash, or it still runs), whose clock was ahead, or this one is behind; another"},
		{record("", -time.Second, 4*time.Second, true), 4 * time.Second, "because it was cleared while it was leased; another"},
		{record("", 5*time.Second, 4*time.Second, false), 4 * time.Second, "node 7 is used up to 2026-06-01T12:00:04Z, because the clock was ahead when it was given back, or is behind now; another"},
		{record("", time.Hour, time.Hour, true), time.Hour, "when it was given back"},
		{nil, 4 * time.Second, "no other node is free, and node 7 is used up to 2026-06-01T12:00:04Z"},
	} {
		g := snowfence.Grant{Node: 7, From: layout.TickOf(now.Add(c.until))}
		got := whyLeasedLater(t.Context(), e, &open.Store{Leases: mem}, f, c.before, g)
		if !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A wait says how long it takes, and whether it ends by itself.
func TestExplainWait(t *testing.T) {
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
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
		explainRate(&command.Env{Stderr: &stderr}, snowfence.MustLayout("twitter"), &newFlags{count: n})
		if got := stderr.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%d IDs: %q", n, got)
		}
	}
}
