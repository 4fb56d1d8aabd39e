package clib

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
)

// urlOf returns the URL of a store or of servers that a program gave, or
// else SNOWFENCE_STORE.
func urlOf(given string) string { return cmp.Or(given, os.Getenv("SNOWFENCE_STORE")) }

// tokenEnv names the file of the token for servers that ask for one.
const tokenEnv = "SNOWFENCE_TOKEN_FILE"

// openServer leases a node from servers, such as the agent of this host.
func (l *Library) openServer(ctx context.Context, url, namespace string, o *options) (Handle, error) {
	c, err := dial(url)
	if err != nil {
		return 0, err
	}
	s, err := servedScheme(ctx, c, namespace, o)
	if err != nil {
		return 0, errors.Join(err, c.Close())
	}
	return l.holdNode(ctx, s, o, func(ctx context.Context, lo *lease.Options) (*lease.Lease, error) {
		return c.Lease(ctx, namespace, s, lo)
	}, c.Close)
}

// dial returns a client of the servers of a URL, which are several with
// commas.
func dial(url string) (*remote.Client, error) {
	o := &remote.Options{}
	if path := os.Getenv(tokenEnv); path != "" {
		if _, err := os.ReadFile(path); err != nil {
			return nil, InvalidError("%s: %w", tokenEnv, err)
		}
		o.TokenFile = path // a replaced token counts at once
	}
	c, err := remote.Dial(open.Servers(url), o)
	if err != nil {
		return nil, coded{Invalid, err}
	}
	return c, nil
}

// servedScheme returns the scheme of a namespace of servers, with the
// secrets of the options or those that the server hands out.
func servedScheme(ctx context.Context, c *remote.Client, namespace string, o *options) (*snowfence.Scheme, error) {
	var s *snowfence.Scheme
	var err error
	if len(o.secrets) == 0 {
		s, err = c.Scheme(ctx, namespace)
	} else if ns, asked := c.Namespace(ctx, namespace); asked == nil {
		s, err = o.schemeFor(ns.Layout)
	} else {
		err = asked
	}
	if err != nil || o.layout == "" {
		return s, err
	}
	wanted, err := snowfence.ParseLayout(o.layout)
	if err == nil && !s.Layout().Equal(wanted) {
		err = otherLayout(namespace, s.Layout(), wanted)
	}
	return s, err
}

func otherLayout(namespace string, have, wanted snowfence.Layout) error {
	return fmt.Errorf("namespace %q has the layout %s, not %s: leave out the layout, or use another namespace (%w)",
		namespace, have, wanted, lease.ErrMismatch)
}
