package lease

import (
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
)

var (
	// ErrEnded means that the lease was closed or orphaned, or that it
	// cannot heal: see the error it is wrapped with. It also matches
	// [snowfence.ErrClosed], because waiting does not help.
	ErrEnded = fault.Mark(errors.New("the lease has ended"), snowfence.ErrClosed)

	// ErrNoNamespace means that the store has no such namespace, or that it
	// was deleted.
	ErrNoNamespace = fault.ErrNoNamespace

	// ErrTaken means that no node is free, or that another holder has the
	// guarded Options.Node. The error is a [TakenError], or a server's text
	// of it.
	ErrTaken = fault.ErrTaken

	// ErrVetoed means that an operator refused to lease
	// the node.
	ErrVetoed = fault.ErrVetoed

	// ErrSkew means that the clocks of this machine and of the store differ
	// by more than Options.MaxSkew.
	ErrSkew = fault.ErrSkew

	// ErrInvalid means that an argument is wrong (a name, an option, an
	// attempt), so repeating the call does not help.
	ErrInvalid = fault.ErrInvalid

	// ErrExists means that there is a namespace of that name with other
	// leasable nodes.
	ErrExists = fault.ErrExists

	// ErrMismatch means that the namespace is for IDs of another layout or
	// other secrets.
	ErrMismatch = fault.ErrMismatch

	// ErrElsewhere means that another server handed the node out, from its
	// memory: the holder uses its grant to the end, and takes another node.
	ErrElsewhere = fault.ErrElsewhere

	// ErrRefused means that a change is not allowed, such as a change of
	// layout that is not proven safe, or that a server does not have the
	// service.
	ErrRefused = fault.ErrRefused
)

// TakenError means that none of the requested nodes is free. Its fields say
// which were asked for (Namespace, Nodes, Fixed, Block), who has them
// (Held, Vetoed, Holders), and when the next one is free (NextFree).
type TakenError = claim.TakenError
