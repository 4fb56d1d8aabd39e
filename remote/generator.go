package remote

import (
	"cmp"
	"context"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Open leases a node of a namespace through the servers and returns a
// generator on it. While no server answers, it goes on as long as its grant
// lasts. Closing the generator ends the lease. The token needs the verbs
// read and lease. These cannot create a namespace: the servers have
// "default", and a token with the verb manage creates others. If secrets
// are missing, Open asks the server for them. Nil options use the defaults.
func (c *Client) Open(ctx context.Context, o *lease.Options) (*snowfence.Generator, error) {
	opts := *cmp.Or(o, &lease.Options{})
	if opts.Namespace == "" {
		opts.Namespace = lease.DefaultNamespace
	}
	s, err := c.schemeOf(ctx, opts.Namespace, opts.Secrets)
	if err != nil {
		return nil, err
	}
	if l := s.Layout(); !opts.Layout.Equal(snowfence.Layout{}) && !opts.Layout.Equal(l) {
		return nil, fmt.Errorf("remote: namespace %q has the layout %s, not %s (%w): use its layout, or another "+
			"namespace; without a Layout in the options its own is used", opts.Namespace, l, opts.Layout,
			lease.ErrMismatch)
	}
	l, err := c.Lease(ctx, opts.Namespace, s, &opts)
	if err != nil {
		return nil, err
	}
	return l.Generator(snowfence.Config{Lead: opts.Lead, Spread: opts.Spread, MaxWait: opts.MaxWait, Time: opts.Time})
}
