// Package open opens the store that a URL names.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

// Schemes are the kinds of stores there are, for help texts.
const Schemes = "sqlite:PATH or mem:"

// later are kinds of stores that a URL may name but this program does not open.
var later = [...]string{"postgres", "postgresql", "mysql", "mariadb", "redis", "rediss", "redis+sentinel", "redis+cluster", "etcd"}

// ErrURL means that a store URL cannot be understood.
var ErrURL = errors.New("store URL")

// Store is an open store.
type Store struct {
	Leases   lease.Store
	Name     string // its URL without passwords
	Local    bool   // it belongs to this machine, so that namespaces are made on first use
	Volatile bool   // it ends with the process

	close func() error
}

// Close closes the store. Leases on it are to be closed first.
func (s *Store) Close() error { return s.close() }

// Open opens the store that a URL names. Errors never show a password.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	switch {
	case !ok:
		return nil, fmt.Errorf("%w %q has no scheme: write %s", ErrURL, rawURL, Schemes)
	case scheme == "sqlite":
		path, err := sqlitePath(rest)
		if err != nil {
			return nil, err
		}
		return sqlite(ctx, path)
	case scheme == "mem" && rest == "":
		return &Store{Leases: lease.NewMemory(), Name: "mem:", Local: true, Volatile: true, close: func() error { return nil }}, nil
	case scheme == "mem":
		return nil, fmt.Errorf("%w %q: write mem: alone, since a store in memory has no name", ErrURL, rawURL)
	case slices.Contains(later[:], scheme):
		return nil, fmt.Errorf("%w %s: this version does not open %s stores yet: use %s", ErrURL, Redact(rawURL), scheme, Schemes)
	}
	return nil, fmt.Errorf("%w %s: there is no kind of store called %q: use %s", ErrURL, Redact(rawURL), scheme, Schemes)
}

// Redact returns a URL without its password.
func Redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, ":")
		return scheme + ":…" // whatever it is, it may hold a password
	}
	if _, ok := u.User.Password(); !ok {
		return rawURL
	}
	return u.Redacted()
}
