package wordmodel

import "testing"

// models are the configurations that are explored to the end. One with all actors at once
// would not end, so each has those who meet at one place: callers, batches and handles
// with each other, a renewal, a grant for another node, the same grant once more, a
// revocation, and Close; the successor and the clock are in all of them.
var models = []model{
	{
		name: "callers over a renewal", ticks: 2, until: 1, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 2}},
	},
	{
		name: "batch over a renewal", long: true, ticks: 2, until: 2, succ: 4, rolls: 1, lead: 1,
		actors:  []actor{{next, 1, 2}, {fill, 3, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}},
	},
	{
		name: "callers over another node", ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{other, 1, 1, 3}},
	},
	{
		name: "batch and handle over another node", long: true, ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{fill, 3, 1}, {handle, 2, 3}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{other, 1, 0, 3}},
	},
	{
		name: "callers over the same node again", long: true, ticks: 2, until: 3, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {handle, 2, 2}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{again, 0, 0, 3}},
	},
	{
		name: "revoke", ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {asker, 0, 2}, {revoke, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}, {other, 1, 0, 3}},
	},
	{
		name: "two askers", ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {asker, 0, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{other, 1, 0, 3}, {again, 1, 0, 3}},
	},
	{
		name: "coarse callers over a renewal", long: true, ticks: 1, until: 1, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {keeper, 0, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 2}},
	},
	{
		name: "coarse handle over another node", long: true, ticks: 1, until: 2, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 1}, {handle, 2, 2}, {keeper, 0, 1}, {asker, 0, 1}},
		answers: []answer{{other, 1, 0, 3}},
	},
	{
		name: "coarse handle and Close", ticks: 2, until: 2, succ: 4, rolls: 1, coarse: true,
		actors: []actor{{handle, 2, 2}, {next, 1, 1}, {keeper, 0, 1}, {closer, 0, 1}},
	},
	{
		name: "parking", long: true, ticks: 1, until: 3, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {keeper, 0, 2}, {asker, 0, 1}},
		answers: []answer{{other, 1, 0, 3}},
	},
	{
		name: "coarse revoke", long: true, ticks: 1, until: 2, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {keeper, 0, 1}, {asker, 0, 2}, {revoke, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}, {other, 1, 0, 3}},
	},
	{
		name: "coarse with the limit loaded late", long: true, ticks: 1, until: 1, succ: 4, rolls: 1,
		coarse: true, lateLim: true,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {keeper, 0, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 2}},
	},
	{
		// Rule 4 allows this; no handle does it. It costs freshness: a caller that has
		// read the clock can be given a position from before it.
		name: "giving back from the exact end", long: true, ticks: 2, until: 2, succ: 4, rolls: 1,
		mutant: givesBack, ignore: 1 << late,
		actors: []actor{{handle, 2, 3}, {handle, 2, 1}, {next, 1, 1}, {closer, 0, 1}},
	},
	{
		name: "ticks that begin later", ticks: 2, until: 1, succ: 4, rolls: 1, spread: true,
		actors:  []actor{{next, 1, 2}, {fill, 3, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}},
	},
	{
		name: "ticks that begin later, with a lead", long: true, ticks: 2, until: 3, succ: 4, rolls: 1, lead: 1,
		spread: true,
		actors: []actor{{next, 1, 2}, {handle, 2, 2}, {fill, 3, 1}, {closer, 0, 1}},
	},
	{
		name: "coarse ticks that begin later", ticks: 2, until: 1, succ: 4, rolls: 1, coarse: true, spread: true,
		actors:  []actor{{next, 1, 2}, {keeper, 0, 2}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}},
	},
	{
		name: "rollback values", long: true, ticks: 2, until: 3, succ: 4, rolls: 2, backs: 1,
		actors: []actor{{next, 1, 2}, {fill, 1, 3}, {closer, 0, 1}},
	},
}

// TestModels proves the promises in all states of all models: each exploration has to be complete.
func TestModels(t *testing.T) {
	total := 0
	for _, m := range models {
		if m.long && testing.Short() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			r := m.explore(4_000_000)
			total += r.states
			t.Logf("%d states", r.states)
			if r.violation != "" {
				t.Errorf("%s:", r.violation)
				for _, line := range m.story(r.trace) {
					t.Log(line)
				}
			} else if !r.complete {
				t.Error("not all states were visited")
			}
		})
	}
	t.Logf("%d states in all", total)
}
