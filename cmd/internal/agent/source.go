package agent

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// Source is where an agent leases units: a server, or a store.
type Source struct {
	Name      string // for people
	Namespace string
	Keys      []*snowfence.Secret
	Scheme    func(l snowfence.Layout) (*snowfence.Scheme, error) // with the Keys
	Open      func(ctx context.Context) (*Opened, error)          // asks the source
}

// Opened is a source that answered.
type Opened struct {
	Server wire.Server
	Layout snowfence.Layout
	Unit   int64         // of the namespace
	MaxTTL time.Duration // of its leases
	Close  func()
}

// source is the server of an opened source. It notes why nothing can be leased any more.
type source struct {
	wire.Server
	namespace string
	ended     chan error
}

// Acquire implements [wire.Server].
func (s source) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	l, err := s.Server.Acquire(ctx, namespace, r)
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		select {
		case s.ended <- err:
		default: // it is known
		}
	}
	return l, err
}
