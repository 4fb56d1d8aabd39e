package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"

	"connectrpc.com/connect"
)

// Kind is the class of an error: a caller's next step follows from it.
type Kind int

// The kinds of errors.
const (
	Internal    Kind = iota // a bug, or damaged data: the server's log says more
	Invalid                 // the request is wrong: change it
	NoNamespace             // there is no such namespace: create it
	Exists                  // there is one already, and it is different
	Lost                    // a lease that is no longer the caller's: acquire another
	NoNodes                 // all nodes are taken: wait, stop a holder, or end a veto
	Exhausted               // no ID can be made right now: ask again in a moment
	Unavailable             // the store is unreachable, or the server has no grant: ask again, or another server
	Refused                 // the server will not: a plan check, a missing secret, a veto
	Anonymous               // who are you?
	Denied                  // you may not
	TooMuch                 // a limit: ask for less, or more slowly
	Lifetime                // the time bits of the layout have run out
	NoSequence              // there is no such sequence: create it
	Ended                   // a sequence gave out all numbers up to its max: raise it
	RolledBack              // the store may have lost numbers of a sequence: confirm it
	NoPeriod                // a dated sequence gives no numbers of this period: name the present one
	Elsewhere               // another server handed the node out, and is unreachable: acquire another one
	kinds
)

// kindTable has the name of each kind, and its error on each wire. TRYAGAIN
// is a word that clients of Redis know, and some repeat by themselves.
var kindTable = [kinds]struct {
	name   string
	status int
	code   connect.Code
	word   string
}{
	Internal:    {"internal", http.StatusInternalServerError, connect.CodeInternal, "ERR"},
	Invalid:     {"invalid", http.StatusBadRequest, connect.CodeInvalidArgument, "ERR"},
	NoNamespace: {"no-namespace", http.StatusNotFound, connect.CodeNotFound, "NONAMESPACE"},
	Exists:      {"exists", http.StatusConflict, connect.CodeAlreadyExists, "EXISTS"},
	Lost:        {"lost", http.StatusConflict, connect.CodeAborted, "LOST"},
	NoNodes:     {"no-nodes", http.StatusServiceUnavailable, connect.CodeResourceExhausted, "NONODES"},
	Exhausted:   {"exhausted", http.StatusServiceUnavailable, connect.CodeResourceExhausted, "TRYAGAIN"},
	Unavailable: {"unavailable", http.StatusServiceUnavailable, connect.CodeUnavailable, "TRYAGAIN"},
	Refused:     {"refused", http.StatusUnprocessableEntity, connect.CodeFailedPrecondition, "REFUSED"},
	Anonymous:   {"unauthenticated", http.StatusUnauthorized, connect.CodeUnauthenticated, "NOAUTH"},
	Denied:      {"denied", http.StatusForbidden, connect.CodePermissionDenied, "NOPERM"},
	TooMuch:     {"limit", http.StatusTooManyRequests, connect.CodeResourceExhausted, "LIMIT"},
	Lifetime:    {"lifetime", http.StatusUnprocessableEntity, connect.CodeFailedPrecondition, "LIFETIME"},
	NoSequence:  {"no-sequence", http.StatusNotFound, connect.CodeNotFound, "NOSEQUENCE"},
	Ended:       {"ended", http.StatusUnprocessableEntity, connect.CodeFailedPrecondition, "ENDED"},
	RolledBack:  {"rolled-back", http.StatusUnprocessableEntity, connect.CodeFailedPrecondition, "ROLLEDBACK"},
	NoPeriod:    {"period", http.StatusUnprocessableEntity, connect.CodeFailedPrecondition, "PERIOD"},
	Elsewhere:   {"elsewhere", http.StatusServiceUnavailable, connect.CodeUnavailable, "TRYAGAIN"},
}

// Name is the kind in words that programs can compare, as in the problem
// documents and error details.
func (k Kind) Name() string { return kindTable[k].name }

// KindNamed returns the kind of a name. A proxy knows none of them: then it
// is [Elsewhere].
func KindNamed(name string) Kind {
	for k := range kinds {
		if kindTable[k].name == name {
			return k
		}
	}
	return Elsewhere
}

// Status is the kind over HTTP.
func (k Kind) Status() int { return kindTable[k].status }

// Code is the kind over gRPC and Connect.
func (k Kind) Code() connect.Code { return kindTable[k].code }

// Word is the first word of an error over the Redis protocol.
func (k Kind) Word() string { return kindTable[k].word }

// kindError is an error of the server itself.
type kindError struct {
	kind Kind
	error
}

func (e kindError) Unwrap() error { return e.error }

// NewError returns an error of a kind.
func NewError(k Kind, err error) error { return kindError{k, err} }

// Errorf is fmt.Errorf for an error of a kind.
func Errorf(k Kind, format string, args ...any) error {
	return kindError{k, fmt.Errorf(format, args...)}
}

// ErrStopping is why requests fail, and streams end, when the server stops.
var ErrStopping = Errorf(Unavailable, "the server is stopping: ask another one")

// KindOf returns the kind of any error that a Service returns.
func KindOf(err error) Kind {
	var own kindError
	switch {
	case errors.As(err, &own):
		return own.kind
	case errors.Is(err, lease.ErrNoNamespace):
		return NoNamespace
	case errors.Is(err, sequence.ErrNoSequence):
		return NoSequence
	case errors.Is(err, sequence.ErrEnded):
		return Ended
	case errors.Is(err, sequence.ErrRolledBack), errors.Is(err, backfill.ErrRolledBack):
		return RolledBack
	case errors.Is(err, sequence.ErrPeriod):
		return NoPeriod
	case errors.Is(err, lease.ErrElsewhere):
		return Elsewhere
	case errors.Is(err, lease.ErrTaken):
		return NoNodes
	case errors.Is(err, snowfence.ErrLifetime):
		return Lifetime
	case errors.Is(err, snowfence.ErrExhausted):
		return Exhausted
	case errors.Is(err, snowfence.ErrFenced), errors.Is(err, snowfence.ErrClosed), errors.Is(err, lease.ErrEnded):
		return Unavailable // whatever befell the server's own lease is not the caller's business
	case errors.Is(err, store.ErrLost): // whatever else went wrong: the holder has to stop
		return Lost
	case errors.Is(err, lease.ErrMismatch), errors.Is(err, lease.ErrExists):
		return Exists
	case errors.Is(err, lease.ErrVetoed), errors.Is(err, lease.ErrRefused), errors.Is(err, backfill.ErrFull):
		return Refused
	case errors.Is(err, lease.ErrInvalid), errors.Is(err, sequence.ErrDated), errors.Is(err, snowfence.ErrInvalidID),
		errors.Is(err, snowfence.ErrInvalidLayout):
		return Invalid
	}
	return Unavailable // what stores return when they are unreachable has no type of its own
}

// storeError is an error of a store. Its text is for callers, wherever it
// is wrapped, because drivers name hosts, users, databases and files.
type storeError struct {
	err    error
	text   string
	detail string // for the log
}

// newStoreError returns the callers' view of an error of the store: its
// meaning to Snowfence, if that is known, and else that there was one.
func newStoreError(err error, hide func(text string) string) *storeError {
	e := &storeError{err, storeFailed, hide(err.Error())}
	for _, known := range []error{store.ErrLost, store.ErrReplaced, store.ErrReadOnly, errors.ErrUnsupported} {
		if errors.Is(err, known) {
			e.text = known.Error()
		}
	}
	return e
}

func (e *storeError) Error() string { return e.text }
func (e *storeError) Unwrap() error { return e.err }

const storeFailed = "the store failed, and the server's log says how"

// LogText returns the text of an error with the store's words, for the log.
func LogText(err error) string {
	text := err.Error()
	if own, ok := errors.AsType[*storeError](err); ok {
		text = strings.Replace(text, own.text, own.detail, 1)
	}
	return text
}

// withoutHolders takes the labels of others out of an error, for callers
// who may not read them.
func withoutHolders(err error) error {
	taken, ok := errors.AsType[*lease.TakenError](err)
	if !ok {
		return err
	}
	e := *taken
	e.Holders = ""
	return &e
}

// sequenceError adds the command of the cure to an error of a sequence.
func sequenceError(name string, err error) error {
	cure := ""
	if err == nil {
		return err
	}
	switch kind := KindOf(err); {
	case kind == NoSequence:
		cure = fmt.Sprintf("snowfence sequence create %s, or PUT /v1/%s/sequence", name, name)
	case kind == Ended && strings.Contains(err.Error(), "raise max"):
		cure = fmt.Sprintf("snowfence sequence change %s --max M", name)
	case kind == RolledBack:
		cure = fmt.Sprintf("snowfence sequence confirm %s --floor N", name)
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, cure)
}

// RetryAfter returns when it makes sense to ask again after an error, in
// whole seconds.
func RetryAfter(err error) time.Duration {
	if wait, ok := errors.AsType[*snowfence.WaitError](err); ok {
		return max(time.Second, (wait.Missing + time.Second - 1).Truncate(time.Second))
	}
	return time.Second
}
