package wordmodel

import "testing"

// small worlds in which mutants do their damage.
var (
	overRenewal = model{
		ticks: 2, until: 1, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 3}, {asker, 0, 2}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}, {renewed, 0, 0, 1}},
	}
	overOther = model{
		ticks: 2, until: 1, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 3}, {next, 1, 2}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{other, 1, 0, 3}},
	}
	overAgain = model{
		ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {next, 1, 2}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{again, 0, 0, 2}},
	}
	overOverlap = model{
		ticks: 2, until: 1, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {next, 1, 2}, {asker, 0, 1}},
		answers: []answer{{other, 1, 1, 3}},
	}
	overshooting = model{
		ticks: 2, until: 2, succ: 4, rolls: 1,
		actors: []actor{{next, 1, 4}, {next, 1, 1}},
	}
	closing = model{
		ticks: 2, until: 2, succ: 4, rolls: 1, lead: 1,
		actors: []actor{{next, 1, 3}, {next, 1, 2}, {closer, 0, 1}},
	}
	coarseClosing = model{
		ticks: 2, until: 3, succ: 6, rolls: 1, coarse: true,
		actors: []actor{{next, 1, 2}, {next, 1, 2}, {next, 1, 2}, {keeper, 0, 2}, {closer, 0, 1}},
	}
	coarseTicking = model{
		ticks: 1, until: 2, succ: 0, rolls: 1, coarse: true,
		actors: []actor{{next, 1, 2}, {next, 1, 1}, {keeper, 0, 1}},
	}
	coarseParking = model{
		ticks: 1, until: 2, succ: 0, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {keeper, 0, 2}, {asker, 0, 1}},
		answers: []answer{{other, 1, 0, 3}},
	}
	coarseOther = model{
		ticks: 2, until: 1, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {next, 1, 2}, {keeper, 0, 2}, {asker, 0, 1}},
		answers: []answer{{other, 1, 1, 3}},
	}
	coarseRenewal = model{
		ticks: 1, until: 1, succ: 4, rolls: 1, coarse: true,
		actors:  []actor{{next, 1, 2}, {next, 1, 1}, {keeper, 0, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 2}},
	}
	handles = model{
		ticks: 2, until: 3, succ: 4, rolls: 1,
		actors: []actor{{handle, 2, 3}, {next, 1, 2}, {closer, 0, 1}},
	}
	revoking = model{
		ticks: 2, until: 2, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {asker, 0, 1}, {revoke, 0, 1}, {closer, 0, 1}},
		answers: []answer{{renewed, 0, 0, 3}},
	}
	twoAskers = model{
		ticks: 1, until: 1, succ: 4, rolls: 1,
		actors:  []actor{{next, 1, 2}, {asker, 0, 1}, {asker, 0, 1}, {closer, 0, 1}},
		answers: []answer{{other, 1, 0, 3}, {again, 1, 0, 3}},
	}
	spreading = model{
		ticks: 2, until: 2, succ: 4, rolls: 1, spread: true,
		actors: []actor{{fill, 2, 2}, {next, 1, 2}, {closer, 0, 1}},
	}
	stepsBack = model{
		ticks: 2, until: 3, succ: 6, rolls: 2, backs: 2,
		actors: []actor{{fill, 2, 4}, {closer, 0, 1}},
	}
)

// mutants breaks every rule of the word.
var mutants = []struct {
	rule   string
	mutant mutant
	model  model
	want   []violation // any of these; others do not count
}{
	{"1: a renewal lowers the bound", lowersBound, overRenewal, []violation{afterRelease, duplicate}},
	{"1: a renewal gets a second word", secondWord, overRenewal, []violation{duplicate}},
	{"1: the bound is raised before the renewal is acknowledged", raisesEarly, overRenewal, []violation{outsideGrant}},

	{"2: the new grant is published before the old word is sealed", publishesFirst, overAgain, []violation{duplicate}},
	{"2: the same, another node", publishesFirst, overOther, []violation{unordered}},
	{"2: the old word is not sealed", sealsNothing, overAgain, []violation{duplicate}},
	{"2: Close seals before it takes the pointer", sealsBeforeClose, overOther, []violation{afterClose}},
	{"2: the new grant is stored over the terminal value", storesPointer, overOther, []violation{afterClose}},

	{"3: a bound can reach the seal", sealsLow, closing, []violation{afterRelease, duplicate, afterClose}},
	{"3: adds wrap the seal", sealsHigh, coarseClosing, []violation{afterRelease, duplicate, afterClose}},
	{"3: the end is read before the swap", readsBeforeSwap, closing, []violation{afterRelease, duplicate}},
	{"3: a tick begun counts as unused", roundsDown, closing, []violation{afterRelease, duplicate}},

	{"4: a caller stores the word", storesWord, closing, []violation{duplicate}},
	{"4: the ticker stores the word", tickerStores, coarseTicking, []violation{duplicate}},
	{"4: an overshoot is subtracted", subtracts, overshooting, []violation{duplicate}},
	{"4: a handle subtracts the rest of its block", subtracts, handles, []violation{duplicate}},
	{"4: a handle gives back a block others went past", givesBackMore, handles, []violation{duplicate}},

	{"5: a position is checked against the present grant", presentBound, overOther, []violation{outsideGrant}},
	{"5: a position becomes an ID of the present grant", presentBase, overOverlap, []violation{duplicate}},

	{"6: a second generator on a fence", secondGenerator, closing, []violation{duplicate}},
	{"6: the fence forgets what was used", forgets, closing, []violation{duplicate}},

	{"7: the ticker writes to a grant it did not read", tickerWrites, coarseOther, []violation{outsideGrant, early}},
	{"7: a handle keeps its block when the tick moved on", keepsBlock, handles, []violation{late}},

	{"spread: how many are left counts from the start of the tick", forgetsBegin, spreading, []violation{outsideGrant, early}},
	{"spread: a tick is begun below the word", beginsAgain, spreading, []violation{duplicate, wordDown}},

	{"clock: the ID's time is the clock, its number the counter", clockOutside, closing, []violation{duplicate}},
	{"clock: the fast path opens before the word is at the tick", opensEarly, closing, []violation{late}},
	{"rollback: a value wraps onto used ticks", rollWraps, stepsBack, []violation{duplicate}},
	{"rollback: one value alone says what was used", oneRollback, stepsBack, []violation{afterRelease, duplicate}},

	{"end: a shorter grant forgets what the longer one used", forgetsStart, overRenewal, []violation{afterRelease}},
	{"end: a bound is raised after its word was sealed", closesOutside, coarseRenewal, []violation{afterRelease, duplicate}},
	{"end: revoke does not seal what Close has taken", revokesBlind, revoking, []violation{afterRelease}},
	{"end: the fence is asked after Close", asksAfterClose, twoAskers, []violation{fenceAfterClose}},
	{"end: a grant in use goes back as a new one", staleAskReleases, twoAskers, []violation{afterRelease}},
	{"end: an answer from before a revocation is used", trustsOldAnswer, revoking, []violation{afterRelease}},
	{"ticker: it parks the grant it read, not the one in use", parksOld, coarseParking, []violation{staleLimit}},
}

// TestMutants demands that each mutant is caught, and shows the shortest way to the
// damage (with -v). Without the mutant, as much of the same world is in order.
func TestMutants(t *testing.T) {
	for _, c := range mutants {
		t.Run(c.rule, func(t *testing.T) {
			// Only what is expected counts, so that the trace ends with the real damage
			// and not with a first sign of it.
			m := c.model
			m.ignore = ^uint(0)
			for _, v := range c.want {
				m.ignore &^= 1 << v
			}
			m.mutant = c.mutant
			r := m.explore(4_000_000)
			if r.violation == "" {
				t.Fatalf("not caught in %d states (complete: %v)", r.states, r.complete)
			}
			t.Logf("%s, after %d steps and %d states", r.violation, len(r.trace), r.states)
			for _, line := range m.story(r.trace) {
				t.Log(line)
			}
			if testing.Short() {
				return
			}
			if clean := c.model.explore(r.states); clean.violation != "" {
				t.Errorf("without the mutant: %s", clean.violation)
			}
		})
	}
}
