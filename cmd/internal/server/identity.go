package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Identity is a known caller. Connections keep it, so its rights change
// when tokens are read again. Safe for concurrent use.
type Identity struct {
	Name        string
	hash        [sha256.Size]byte
	certificate string                 // in place of the hash
	rights      atomic.Pointer[rights] // nil when the token was revoked
	usage       *Usage
	gate        chan struct{} // semaphore of one: hold it to take nodes up to a limit
}

// rights are the permissions of a token.
type rights struct {
	token   Token
	limiter *rate.Limiter // nil when there is no limit
}

// Usage counts the requests with a token.
type Usage struct {
	Spent   atomic.Int64 // IDs, numbers, nodes and other requests, as rates count them
	Refused atomic.Int64 // requests, because of the token or its limits
}

// knownAs reports whether two are the same caller.
func (id *Identity) knownAs(other *Identity) bool {
	return id.hash == other.hash && id.certificate == other.certificate
}

// takeRights gives an identity the rights of another one, and returns it.
func (id *Identity) takeRights(next *Identity) *Identity {
	now, then := next.rights.Load(), id.rights.Load()
	if then.token.Rate == now.token.Rate && then.token.Burst == now.token.Burst {
		now.limiter = then.limiter
	}
	id.rights.Store(now)
	return id
}

var errRevoked = Errorf(Anonymous, "the token was revoked: use another one")

// May returns why the caller may not do something in a namespace; "" stands
// for rights outside of namespaces.
func (id *Identity) May(v Verb, namespace string) error {
	r, err := id.presentRights()
	if err != nil {
		return err
	}
	return r.mayIn(v, namespace)
}

// presentRights returns the rights of the caller now, or why it has none.
func (id *Identity) presentRights() (*rights, error) {
	if id == nil {
		return nil, Errorf(Anonymous, "a token is needed")
	}
	r := id.rights.Load()
	switch {
	case r == nil:
		return nil, errRevoked
	case !r.token.Until.IsZero() && !time.Now().Before(r.token.Until.Time):
		return nil, Errorf(Anonymous, "token %q ended at %s: use another one", id.Name,
			r.token.Until.UTC().Format(time.RFC3339))
	}
	return r, nil
}

func (r *rights) mayIn(v Verb, namespace string) error {
	if !r.token.May(v) {
		return Errorf(Denied, "token %q lacks the verb %q", r.token.Name, v)
	}
	if !r.seesNamespace(namespace) {
		return Errorf(Denied, "token %q is not for namespace %q", r.token.Name, namespace)
	}
	return nil
}

// Authorize is May for a request, which counts for the caller's rate as n
// IDs, whatever becomes of it: a failed one may have asked the store.
func (id *Identity) Authorize(v Verb, namespace string, n int64) error {
	r, err := id.presentRights()
	if err == nil {
		err = r.mayIn(v, namespace)
	}
	if err != nil {
		return id.countRefusal(err)
	}
	switch {
	case r.limiter == nil:
	case n > int64(r.limiter.Burst()):
		return id.countRefusal(Errorf(TooMuch, "%s may have %d at once: ask for fewer", r.who(), r.limiter.Burst()))
	case !r.limiter.AllowN(time.Now(), int(n)):
		return id.countRefusal(Errorf(TooMuch, "%s may have %g a second: ask more slowly", r.who(), r.token.Rate))
	}
	id.Count(n)
	return nil
}

// countRefusal counts that a request was refused, and returns why.
func (id *Identity) countRefusal(err error) error {
	if id != nil {
		id.usage.Refused.Add(1)
	}
	return err
}

// Sees reports whether the caller may know of a namespace.
func (id *Identity) Sees(namespace string) bool {
	r, err := id.presentRights()
	return err == nil && r.seesNamespace(namespace)
}

// SeesAll reports whether the caller may know of all namespaces.
func (id *Identity) SeesAll() bool {
	r, err := id.presentRights()
	return err == nil && len(r.token.Namespaces) == 0
}

func (r *rights) seesNamespace(namespace string) bool {
	if len(r.token.Namespaces) == 0 || namespace == "" {
		return true
	}
	return slices.ContainsFunc(r.token.Namespaces, func(p string) bool {
		prefix, wild := strings.CutSuffix(p, "*")
		return p == namespace || wild && strings.HasPrefix(namespace, prefix)
	})
}

// Limited reports whether the caller has a rate, or no rights.
func (id *Identity) Limited() bool {
	r, err := id.presentRights()
	return err != nil || r.limiter != nil
}

// Count adds to the use of the token.
func (id *Identity) Count(n int64) { id.usage.Spent.Add(n) }

// who returns the caller's name in errors.
func (r *rights) who() string {
	if r.token.Name == "" {
		return "all clients together"
	}
	return fmt.Sprintf("token %q", r.token.Name)
}

// Pace waits until the caller may have more, and returns how many of n:
// what its rate lets through at once. It is for streams, which slow down
// where a single request would be refused.
func (id *Identity) Pace(ctx context.Context, n int64) (int64, error) {
	r, err := id.presentRights()
	switch {
	case err != nil:
		return 0, id.countRefusal(err)
	case r.limiter == nil:
		id.Count(n)
		return n, nil
	}
	// Half of the burst stays for the other requests of the token.
	burst := int64(r.limiter.Burst())
	n = min(n, max(burst-burst/2, 1))
	for {
		missing := float64(burst/2+n) - r.limiter.Tokens()
		if missing <= 0 && r.limiter.AllowN(time.Now(), int(n)) {
			id.Count(n)
			return n, nil
		}
		timer := time.NewTimer(time.Duration(max(missing/float64(r.limiter.Limit()), 1e-4) * float64(time.Second)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, context.Cause(ctx) // the client is gone, or the server stops
		}
	}
}
