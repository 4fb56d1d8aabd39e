// Package open opens the store that a URL names.
package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

// Schemes are the kinds of stores there are, for help texts.
const Schemes = "sqlite:PATH, postgres:, mysql:, redis:, etcd:, kubernetes:, dynamodb:, s3: or mem:"

// ErrURL means that a store URL cannot be understood.
var ErrURL = errors.New("store URL")

// Store is an open store.
type Store struct {
	Leases   store.Store
	Name     string // its URL without passwords
	Local    bool   // it belongs to this machine, so that namespaces are made on first use
	Volatile bool   // it ends with the process
	System   bool   // it is the system-wide one
	Made     bool   // its file was made just now
	OwnFile  string // the user's own file, where it is there beside the system-wide store

	path     string // of an SQLite file
	secrets  secrets
	findings func(ctx context.Context, namespace string) ([]Finding, error)
	close    func() error
}

// LocalTTL is the ttl of leases from a file: a file does not go away, and
// the node of a killed process is free the sooner.
const LocalTTL = 5 * time.Second

// Use has what a lease takes from its namespace.
type Use struct {
	Scheme *snowfence.Scheme
	TTL    time.Duration // of leases, if it depends on the store, and else 0
	Made   bool          // the namespace was made just now
}

// Use returns what leases take from a namespace, with the scheme that a
// function makes of its layout. The first use makes the namespace, with the
// layout wanted, if it is the default one, or if the store belongs to this
// machine.
func (s *Store) Use(
	ctx context.Context, namespace string, wanted snowfence.Layout,
	scheme func(snowfence.Layout) (*snowfence.Scheme, error),
) (u Use, err error) {
	var ns scope.Namespace
	for {
		if ns, err = scope.Namespaces(s.Leases).Show(ctx, namespace); err == nil {
			u.Scheme, err = scheme(ns.Layout)
			break
		}
		if !errors.Is(err, lease.ErrNoNamespace) || !s.Local && namespace != lease.DefaultNamespace {
			break
		}
		if u.Scheme, err = scheme(wanted); err == nil {
			ns, err = scope.Namespaces(s.Leases).Create(ctx, namespace, u.Scheme, nil)
			u.Made = err == nil
		}
		if !errors.Is(err, lease.ErrMismatch) { // else another process was first
			break
		}
	}
	if s.Local {
		u.TTL = min(LocalTTL, ns.MaxTTL)
	}
	return u, err
}

// Finding is one thing that a store's promise depends on, as it was found.
type Finding = sqlstore.Finding

// Close closes the store. Close leases on it first.
func (s *Store) Close() error { return s.close() }

// Findings says how the server is set up that keeps a namespace, as far as
// the store's promise depends on it. Embedded stores have nothing to say.
func (s *Store) Findings(ctx context.Context, namespace string) ([]Finding, error) {
	if s.findings == nil {
		return nil, nil
	}
	return s.findings(ctx, namespace)
}

// Hide returns a text, such as an error of a driver, without the store's
// passwords.
func (s *Store) Hide(text string) string { return s.secrets.hideIn(text) }

// servers are the schemes of stores on servers.
var servers = map[string]struct {
	port string
	open func(ctx context.Context, a *address, env func(string) string) (*Store, error)
}{
	"postgres": {"5432", openPostgres}, "postgresql": {"5432", openPostgres},
	"mysql": {"3306", openMySQL}, "mariadb": {"3306", openMySQL},
	"redis": {"6379", openRedis}, "rediss": {"6379", openRedis},
	"redis+sentinel": {"26379", openRedis}, "rediss+sentinel": {"26379", openRedis},
	"redis+cluster": {"6379", openRedis}, "rediss+cluster": {"6379", openRedis},
	"etcd": {"2379", openEtcd}, "kubernetes": {"", openKubernetes},
	"dynamodb": {"", openDynamoDB}, "s3": {"", openS3},
}

// place is the place of a URL: one of these.
type place struct {
	memory  bool
	file    string // of SQLite
	address *address
	open    func(ctx context.Context, a *address, env func(string) string) (*Store, error) // the address
}

// Check returns the mistake in the form of a URL. "" is the user's own
// file.
func Check(rawURL string) error {
	if rawURL == "" {
		return nil
	}
	_, err := parse(rawURL)
	return err
}

// parse reads a URL, and asks nothing.
func parse(rawURL string) (p place, err error) {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	kind, known := servers[scheme]
	switch {
	case strings.TrimSpace(rawURL) != rawURL || strings.ContainsFunc(rawURL, unicode.IsControl):
		return p, fmt.Errorf("%w begins or ends with a space, or has an end of line or another control character: "+
			"remove it", ErrURL)
	case !ok && strings.ContainsAny(rawURL, "@/?&= "):
		return p, fmt.Errorf("%w has no scheme: write %s", ErrURL, Schemes)
	case !ok:
		return p, fmt.Errorf("%w %q has no scheme: write %s", ErrURL, rawURL, Schemes)
	case scheme == "sqlite":
		p.file, err = sqlitePath(rest)
		return p, err
	case scheme == "mem" && rest != "":
		return p, fmt.Errorf("%w mem:…: write mem: alone, because a store in memory has no name", ErrURL)
	case scheme == "mem":
		return place{memory: true}, nil
	case scheme == "http" || scheme == "https":
		return p, fmt.Errorf("%w %s:…: a server of Snowfence is no store: give the URL of the store behind it, "+
			"which is the server's own --store, or ask the server itself, as in curl %s://HOST:PORT/v1/default/next, "+
			"or …/v1/NAME/sequence/next for the numbers of a sequence", ErrURL, scheme, scheme)
	case !known && (!validScheme.MatchString(scheme) || strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//")):
		// The text before the colon may be a user, or worse.
		return p, fmt.Errorf("%w has no scheme: write %s", ErrURL, Schemes)
	case !known:
		return p, fmt.Errorf("%w %s:…: there is no kind of store called %q: use %s", ErrURL, scheme, scheme, Schemes)
	}
	p.open = kind.open
	p.address, err = parseAddress(scheme, rest, kind.port)
	return p, err
}

// OnServer reports whether a URL names a store on a server.
func OnServer(rawURL string) bool {
	p, err := parse(rawURL)
	return err == nil && p.address != nil
}

// Open opens the store that a URL names, with the password variables of the
// process's environment. It asks the store once, so that an unreachable one
// shows within seconds. Errors never show a password.
func Open(ctx context.Context, rawURL string) (*Store, error) { return OpenEnv(ctx, rawURL, os.Getenv) }

// OpenEnv is Open with another environment.
func OpenEnv(ctx context.Context, rawURL string, env func(name string) string) (*Store, error) {
	return openPlace(ctx, rawURL, env, false)
}

// Look is OpenEnv that changes nothing: it makes no file, no table and no
// identity. It needs the right to read, and no other.
func Look(ctx context.Context, rawURL string, env func(name string) string) (*Store, error) {
	return openPlace(ctx, rawURL, env, true)
}

func openPlace(ctx context.Context, rawURL string, env func(name string) string, looks bool) (*Store, error) {
	p, err := parse(rawURL)
	switch {
	case err != nil:
		return nil, err
	case p.file != "":
		return openSQLite(ctx, p.file, looks)
	case p.memory && looks:
		return nil, fmt.Errorf("%w mem: no other process can look at a store in memory", ErrURL)
	case p.memory:
		return &Store{
			Leases: store.NewMemory(), Name: "mem:", Local: true, Volatile: true, close: func() error { return nil },
		}, nil
	}
	p.address.looks = looks
	return p.open(ctx, p.address, env)
}

// Redact returns a URL without its passwords.
func Redact(rawURL string) string {
	p, err := parse(rawURL)
	scheme, _, _ := strings.Cut(rawURL, ":")
	_, known := servers[scheme]
	switch {
	case err == nil && p.address != nil:
		return p.address.name()
	case scheme == "sqlite", scheme == "mem":
		return rawURL
	case known:
		return scheme + ":…"
	}
	return "…" // whatever it is, it may hold a password
}

// Servers returns the URLs of servers that stand in place of the URL of a
// store, with commas between them; nil for a store.
func Servers(url string) []string {
	for _, scheme := range [...]string{"unix:", "http:", "https:"} {
		if strings.HasPrefix(url, scheme) {
			return strings.Split(url, ",")
		}
	}
	return nil
}

// Over returns what stands for the store of a server over the servers of a
// URL.
func Over(url string, st store.Store, done func() error) *Store {
	return &Store{Leases: st, Name: url, close: done}
}
