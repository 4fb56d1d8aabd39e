package snowfence

// point is a place between two atomic steps. Tests with the tag snowfence_stall
// stop goroutines there for any length of time.
type point int

const (
	afterTrack  point = iota // the generator's pointer was read
	afterClock               // the time was read
	afterWord                // the word was read
	afterTake                // positions were taken, the ID is not yet made
	afterLimit               // the coarse limit was read
	beforeSeal               // a new grant is known, the old word not yet sealed
	afterSeal                // the old word is sealed, the new grant not yet published
	afterClose               // Close took the pointer away, the word is not yet sealed
	afterTicker              // the coarse ticker read the pointer and the time
	numPoints
)
