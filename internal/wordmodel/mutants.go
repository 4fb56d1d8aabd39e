package wordmodel

// mutant is one rule broken in one place.
type mutant uint8

const (
	_ mutant = iota // the rules as they are

	lowersBound // rule 1
	secondWord
	raisesEarly

	publishesFirst // rule 2
	sealsNothing
	sealsBeforeClose
	storesPointer

	sealsLow // rule 3
	sealsHigh
	readsBeforeSwap
	roundsDown

	storesWord // rule 4
	tickerStores
	subtracts
	givesBackMore

	presentBound // rule 5
	presentBase

	secondGenerator // rule 6
	forgets

	tickerWrites // rule 7
	keepsBlock

	forgetsBegin // a tick that begins at a later slot
	beginsAgain

	clockOutside // the clock belongs inside the step
	opensEarly
	rollWraps // rollback values
	oneRollback

	forgetsStart  // what came before the start of a hold counts as unused when its end is lower
	closesOutside // the ends of a generator
	revokesBlind
	asksAfterClose
	staleAskReleases
	trustsOldAnswer
	parksOld

	// givesBack is the one way down that rule 4 allows, and no mutant; the real
	// code does not use it.
	givesBack
)
