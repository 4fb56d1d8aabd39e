package lease

// Event is something that happened to a lease, for [Options.Events].
type Event struct {
	Kind      string // one of the Event constants; also the message in the log
	Namespace string
	Cause     error // why; nil if Kind says all
}

// The kinds of events.
const (
	// EventLost: the grant is lost, and the generator is sealed.
	EventLost = "lease lost"
	// EventLate: the grant was not renewed, and again a second later, two,
	// four, …
	EventLate = "lease not renewed"
	// EventRolledBack: the store lost writes that it had acknowledged.
	EventRolledBack = "the store was rolled back"
	// EventReplaced: the namespace was made in another store.
	EventReplaced = "the store is not the one the namespace was made in"
	// EventFloorRaised: grants now begin above all that were granted
	// before.
	EventFloorRaised = "floor raised"
)

// reporter keeps what happened until it may be announced. It belongs to the
// user of the claim.
type reporter struct{ events []Event }
