package main

import (
	"os"
	"testing"
	"time"
)

// check plays rules against an adapter of this test program.
func check(t *testing.T, adapter string, only ...string) []Row {
	t.Helper()
	rows, err := Run(t.Context(), servers, []string{os.Args[0], adapterArg, adapter}, only)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%-14s %-9s %5d IDs %3d grants %s %q", r.Name, r.Verdict, r.IDs, r.Grants, r.Missed, r.Found)
	}
	return rows
}

// A client that plays the protocol by hand without a mistake follows all
// rules.
func TestNoMistake(t *testing.T) {
	t.Parallel()
	for _, r := range check(t, "none") {
		if r.Verdict != Green {
			t.Errorf("%s is %s", r.Name, r.Verdict)
		}
	}
}

// Each mistake breaks the rule that is there for it. In short form, only
// one mistake of a rule is tried, and none of those that take longest.
func TestMistakes(t *testing.T) {
	tried := map[string]bool{"outage": testing.Short(), "gone": testing.Short(), "killed": testing.Short()}
	for mistake, name := range map[string]string{
		"begins anew with each renewal": "renew",
		"repeats its attempt":           "renew",
		"keeps the first ticket":        "renew",
		"gives back what it used":       "renew",
		"ignores last":                  "sequence",
		"repeats a number":              "sequence",
		"has a layout of its own":       "sequence",
		"repeats a number with a tag":   "above",
		"moves a value within a tick":   "above",
		"needs a node number":           "zero",
		"forgets earlier attempts":      "lost-renewal",
		"takes a second node":           "lost-acquire",
		"follows redirects":             "damaged",
		"takes every error for a loss":  "damaged",
		"believes a proxy":              "damaged",
		"ignores until":                 "outage",
		"trusts a renewal that it sent": "late",
		"goes on after a loss":          "taken",
		"forgets what it lost":          "taken",
		"goes on after 404":             "gone",
		"renews what is elsewhere":      "elsewhere",
		"forgets what it stamped":       "again",
		"keeps the first from":          "raised",
		"keeps its ticket on disk":      "killed",
	} {
		if testing.Short() && tried[name] {
			continue
		}
		tried[name] = true
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			if r := check(t, mistake, name)[0]; r.Verdict != Red {
				t.Errorf("%s is %s", r.Name, r.Verdict)
			}
		})
	}
}

// A rule that was not seen is played again, at most three times.
func TestRounds(t *testing.T) {
	t.Parallel()
	list := []rule{{name: "third"}, {name: "never"}}
	for i := range list {
		played := 0
		list[i].ttl = 3 * time.Second
		list[i].play = func(s *scene) {
			s.nextUntil("an ID", func() bool { return s.ids > 0 })
			if played++; played < 3 || list[i].name == "never" {
				s.noteMiss("anything")
			}
		}
	}
	rows, err := playAll(t.Context(), list, servers, []string{os.Args[0], adapterArg, "none"})
	if err != nil || rows[0].Verdict != Green || rows[1].Verdict != NotSeen {
		t.Errorf("%+v, %v", rows, err)
	}
}
