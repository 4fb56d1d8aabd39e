package main

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
)

// What is said of a node whose IDs begin later is what is known of its last holder.
func TestWhyLeasedLater(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout := snowfence.Twitter()
	s, err := snowfence.NewScheme(layout)
	if err != nil {
		t.Fatal(err)
	}
	mem := lease.NewMemory()
	if _, err := lease.CreateNamespace(t.Context(), mem, "default", s, nil); err != nil {
		t.Fatal(err)
	}
	p := &program{now: func() time.Time { return now }}
	f := &newFlags{block: 1, store: storeFlags{namespace: "default"}}
	record := func(holder string, at, until time.Duration, unbroken bool) *lease.Record {
		r := &lease.Record{Nonce: "x", Generation: 1, Holder: holder, At: now.Add(at).UnixMilli(), Until: layout.TickOf(now.Add(until))}
		if r.From = r.Until - 1000; unbroken {
			r.From, r.PrevUntil = 5, 5
		}
		return r
	}
	const restore = "\n  snowfence lease restore 7 --namespace default"
	for _, c := range []struct {
		before *lease.Record
		until  time.Duration
		want   string
	}{
		{record("h", -time.Second, 4*time.Second, true), 4 * time.Second, "node 7 was not given back by its last holder (a crash, or it still runs); another"},
		{record("h", time.Hour, time.Hour, false), time.Hour, "(a crash, or it still runs), whose clock was ahead, or this one is behind; another"},
		{record("", -time.Second, 4*time.Second, true), 4 * time.Second, "node 7 was cleared while it was leased; another"},
		{record("", 5*time.Second, 4*time.Second, false), 4 * time.Second, "node 7 was given back, used up to 2026-06-01T12:00:04Z: the clock was ahead then, or is behind now; another"},
		{record("", time.Hour, time.Hour, true), time.Hour, "node 7 was given back"},
		{nil, 4 * time.Second, "no other node is free, and node 7 is used up to 2026-06-01T12:00:04Z"},
	} {
		g := snowfence.Grant{Node: 7, From: layout.TickOf(now.Add(c.until))}
		got := p.whyLeasedLater(t.Context(), &open.Store{Leases: mem}, f, c.before, g)
		if !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
		wantRestore := c.before != nil && c.before.From > layout.TickOf(now) && (c.until > time.Minute || c.before.At > now.UnixMilli())
		if strings.HasSuffix(got, restore) != wantRestore {
			t.Errorf("the way back is offered where there is none, or the other way round: %q", got)
		}
	}
}

// The command line knows the library's bound.
func TestMaxLead(t *testing.T) {
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	for lead, valid := range map[int64]bool{maxLead: true, maxLead + 1: false} {
		g, err := snowfence.New(snowfence.Config{Fence: snowfence.Static(s, 1), Lead: lead})
		if (err == nil) != valid {
			t.Errorf("lead %d: %v", lead, err)
		}
		if err == nil {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
