package lease

import (
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Serve is for servers: it returns a [wire.Server], which leases nodes of a
// store to holders in other processes, in namespaces of a scheme. Of o it
// uses MaxSkew, Time, Logger and Events, for the server itself. It keeps no
// state but its clock.
//
// A holder must do what a [Lease] does: renew every third of the TTL, stop
// at the end of its grant, and stop at once when a renewal is a
// [store.ErrLost]. A copied holder is noticed just as a copied [Lease] is.
//
// A ticket is signed with a key from the record of the namespace. The
// server refuses a changed ticket as lost. So a holder decides only about
// the ticks that it was granted: if it lies about its use, it can only
// repeat its own IDs.
func Serve(st store.Store, s *snowfence.Scheme, o *Options) wire.Server {
	if o == nil {
		o = &Options{}
	}
	n := o.settings(s)
	return claim.Serve(st, s, n, func(w world.World, namespace string) (claim.Report, func()) {
		r := o.reporter(w, namespace, n.Logger)
		return r.report, r.announce
	})
}

// ReadTicket returns the lease that a ticket stands for, for servers that
// look at a ticket before they act on it. It does not verify the ticket.
// Bytes that are no ticket are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := ticket.Parse(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.Lease(b), nil
}
