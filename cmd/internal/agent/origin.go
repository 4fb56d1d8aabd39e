package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// Source is where an agent leases units: a server, or a store.
type Source struct {
	Name      string // for people; another one is another source
	Namespace string
	Keys      []*snowfence.Secret
	Scheme    func(l snowfence.Layout) (*snowfence.Scheme, error) // with the Keys

	// Open asks the source. It may be called again after an error.
	Open func(ctx context.Context) (*Opened, error)
}

// Opened is a source that answers.
type Opened struct {
	Server wire.Server
	Layout snowfence.Layout
	Unit   int64         // of the namespace
	MaxTTL time.Duration // of its leases
	Close  func()
}

const (
	openWait  = 30 * time.Second // for the first answer of a source
	knownWait = time.Second      // the same, where an earlier agent left what is needed
)

// origin is a source as the agent found it, or as an earlier agent did. It is a [wire.Server], and
// safe for concurrent use.
type origin struct {
	source *Source
	about  about
	scheme *snowfence.Scheme
	gate   chan *Opened // has one: nil until the source has answered
	ended  chan error   // why nothing can be leased any more
}

// reach asks a source what it is. If it does not answer, the state may know.
func reach(ctx context.Context, s *Source, st *state) (_ *origin, err error) {
	o := &origin{source: s, gate: make(chan *Opened, 1), ended: make(chan error, 1)}
	known := st.about.Source == s.Name && st.about.Namespace == s.Namespace
	wait := openWait
	if known {
		wait = knownWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	opened, err := o.open(ctx)
	switch {
	case err == nil:
	case known && away(err):
		st.logger.Warn("the agent goes on with what it had, because its source does not answer", "cause", err)
		o.about = st.about
		o.scheme, err = s.known(o.about)
	}
	if err != nil {
		return nil, err
	}
	o.gate <- opened
	return o, nil
}

// known returns the scheme that an earlier agent had, if the secrets are the same.
func (s *Source) known(a about) (*snowfence.Scheme, error) {
	l, err := snowfence.ParseLayout(a.Layout)
	if err != nil {
		return nil, err
	}
	scheme, err := s.Scheme(l)
	if err == nil && schemeID(scheme) != a.Scheme {
		err = fmt.Errorf("namespace %q had other secrets: %w", a.Namespace, lease.ErrMismatch)
	}
	return scheme, err
}

// schemeID is a text that another scheme does not have.
func schemeID(s *snowfence.Scheme) string {
	return s.Fingerprint() + " " + strings.Join(s.KeyIDs(), " ")
}

// away reports whether an agent may go on without what its source said.
func away(err error) bool {
	for _, definite := range []error{lease.ErrNoNamespace, lease.ErrMismatch, snowfence.ErrKey} {
		if errors.Is(err, definite) {
			return false
		}
	}
	return true
}

// open opens the source, and compares it with what is known.
func (o *origin) open(ctx context.Context) (*Opened, error) {
	opened, err := o.source.Open(ctx)
	if err != nil {
		return nil, err
	}
	s, err := o.source.Scheme(opened.Layout)
	if err == nil {
		a := about{
			o.source.Name, o.source.Namespace, opened.Layout.String(), schemeID(s), unitOf(opened.Unit, s.Nodes()),
			opened.MaxTTL,
		}
		switch {
		case o.scheme == nil:
			o.about, o.scheme = a, s
		case o.about != a:
			err = fmt.Errorf("namespace %q was changed: %w", o.about.Namespace, lease.ErrMismatch)
		}
	}
	if err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// server returns the source, and opens it if it has not answered yet.
func (o *origin) server(ctx context.Context) (wire.Server, error) {
	select {
	case opened := <-o.gate:
		var err error
		if opened == nil {
			opened, err = o.open(ctx)
		}
		o.gate <- opened
		if err != nil {
			return nil, err
		}
		return opened.Server, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Acquire implements [wire.Server].
func (o *origin) Acquire(ctx context.Context, namespace string, r wire.Request) (l wire.Lease, _ error) {
	s, err := o.server(ctx)
	if err == nil {
		l, err = s.Acquire(ctx, namespace, r)
	}
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		select {
		case o.ended <- err:
		default: // it is known
		}
	}
	return l, err
}

// Renew implements [wire.Server].
func (o *origin) Renew(
	ctx context.Context, t wire.Ticket, attempt string, earlier []string,
) (none wire.Lease, _ error) {
	s, err := o.server(ctx)
	if err != nil {
		return none, err
	}
	return s.Renew(ctx, t, attempt, earlier)
}

// Release implements [wire.Server].
func (o *origin) Release(ctx context.Context, t wire.Ticket, used int64) error {
	s, err := o.server(ctx)
	if err != nil {
		return err
	}
	return s.Release(ctx, t, used)
}

// close closes the source, if it was opened.
func (o *origin) close() {
	if opened := <-o.gate; opened != nil {
		opened.Close()
	}
}
