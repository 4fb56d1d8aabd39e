package main

import (
	"strings"
	"testing"
)

// An agent over a store of its own: each user of the host holds a quarter
// of a unit, in one namespace of the store.
func TestAgentOverAStore(t *testing.T) {
	f := newFleet(t)
	f.start("agent", "--store", f.store(), "--ready-for", "jobs", "--http", "unix:"+f.dir+"/agent")
	f.listens(f.dir + "/agent")
	c := f.dial()
	says(t, errOf(c.Lease(t.Context(), "other", f.s, nil)), "is not for namespace", "another namespace of the store")
	for held := 0; ; held++ {
		l, err := c.Lease(t.Context(), "jobs", f.s, nil)
		if err == nil && held < 8 {
			defer l.Close()
			continue
		}
		if held != 8 || err == nil || !strings.Contains(err.Error(), "may hold 8 nodes") {
			t.Fatalf("the user got %d of 32 nodes: %v", held, err)
		}
		return
	}
}
