package server

import (
	"errors"
	"sync/atomic"

	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// renewals counts how renewals of subleases ended that reached this server.
type renewals struct{ renewed, forwarded, elsewhere, lost atomic.Int64 }

// Renewals calls each with how many renewals of subleases ended in which
// way. Those that were forwarded count once more at the server that
// answered them.
func (s *Leases) Renewals(each func(result string, n int64)) {
	r := &s.renewals
	each("renewed", r.renewed.Load())
	each("forwarded", r.forwarded.Load())
	each("elsewhere", r.elsewhere.Load())
	each("lost", r.lost.Load())
}

// countRenewal counts a renewal that this server answered.
func (s *Leases) countRenewal(l wire.Lease, err error) {
	switch {
	case l.Lessor == "":
	case err == nil:
		s.renewals.renewed.Add(1)
	case errors.Is(err, lease.ErrElsewhere):
		s.renewals.elsewhere.Add(1)
	case errors.Is(err, store.ErrLost):
		s.renewals.lost.Add(1)
	}
}

// Forwarded counts renewals that another server was asked for.
func (s *Leases) Forwarded(n int64, err error) {
	switch {
	case err == nil:
		s.renewals.forwarded.Add(n)
	case errors.Is(err, lease.ErrElsewhere):
		s.renewals.elsewhere.Add(n)
	}
}

// Lessor returns the id of another server that alone can renew a lease; ""
// if this one can.
func (s *Leases) Lessor(l wire.Lease) string {
	if id := lessor.IDOf(l); id != s.core.id {
		return id
	}
	return ""
}

// FromMemory reports whether a renewal asks no store: this server sublet
// the node.
func (s *Leases) FromMemory(l wire.Lease) bool {
	sp := (*s.spaces.ready.Load())[l.Namespace]
	return lessor.IDOf(l) == s.core.id && sp != nil && sp.isCurrent()
}
