package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Verb is a group of requests that a token may be allowed to make.
type Verb string

// The verbs.
const (
	VerbIDs  Verb = "ids"  // new IDs
	VerbRead Verb = "read" // decode, ranges, and looking at namespaces and leases
	// Leases of the caller's own, by tickets; it can use up the nodes, but not take one
	// that another label holds.
	VerbLease  Verb = "lease"
	VerbStore  Verb = "store"  // leases that the caller keeps itself, in the store (see lease.Holders)
	VerbManage Verb = "manage" // namespaces, vetoes, releases
)

// verbs are all of them.
var verbs = [...]Verb{VerbIDs, VerbRead, VerbLease, VerbStore, VerbManage}

// Token is who may do what. The secret itself is kept nowhere.
type Token struct {
	Name       string   `yaml:"name"`                 // for logs and metrics
	SHA256     string   `yaml:"sha256"`               // of the secret, as 64 hexadecimal digits
	Namespaces []string `yaml:"namespaces,omitempty"` // names, or beginnings with a * behind; none means all
	Verbs      []Verb   `yaml:"verbs,omitempty"`      // none means ids and read
	Rate       float64  `yaml:"rate,omitempty"`       // IDs and other requests a second; 0 means no limit
	Burst      int      `yaml:"burst,omitempty"`      // how many at once; 0 means those of a second
}

// Auth knows who callers are. A reload makes another, which succeeds it.
type Auth struct {
	anyone *Identity // nil when a token is needed
	tokens []*Identity
}

// Identity is a caller who is known. Connections keep it, so what it may do changes when
// tokens are read again. Safe for concurrent use.
type Identity struct {
	Name   string
	hash   [sha256.Size]byte
	rights atomic.Pointer[rights] // nil when the token was revoked
}

// rights are what a token allows at present.
type rights struct {
	token   Token
	limiter *rate.Limiter // nil when there is no limit
}

// Open lets everybody do everything, which is for listeners that only this machine reaches.
func Open() *Auth {
	id := &Identity{Name: "anyone"}
	id.rights.Store(&rights{token: Token{Verbs: verbs[:]}})
	return &Auth{anyone: id}
}

// NewAuth returns an Auth that wants one of the tokens.
func NewAuth(tokens []Token) (*Auth, error) {
	a := &Auth{}
	names, sums := map[string]bool{}, map[string]string{}
	for i, t := range tokens {
		sum, err := hex.DecodeString(t.SHA256)
		switch {
		case t.Name == "":
			return nil, fmt.Errorf("token %d has no name", i+1)
		case names[t.Name]:
			return nil, fmt.Errorf("token %q is given twice", t.Name)
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("token %q: sha256 must be 64 hexadecimal digits, "+
				"as \"snowfence token new\" prints them", t.Name)
		case sums[string(sum)] != "":
			return nil, fmt.Errorf("tokens %q and %q are the same: each needs a secret of its own",
				sums[string(sum)], t.Name)
		case !(t.Rate >= 0) || t.Rate > 1e15 || t.Burst < 0:
			return nil, fmt.Errorf("token %q: rate and burst must be numbers from 0 up", t.Name)
		}
		for _, v := range t.Verbs {
			if !slices.Contains(verbs[:], v) {
				return nil, fmt.Errorf("token %q: there is no verb %q: use ids, read, lease, store, manage", t.Name, v)
			}
		}
		for _, n := range t.Namespaces {
			if i := strings.IndexByte(n, '*'); n == "" || i >= 0 && i < len(n)-1 {
				return nil, fmt.Errorf("token %q: namespace %q: write a name, or the beginning of names with a "+
					"* behind it", t.Name, n)
			}
		}
		if len(t.Verbs) == 0 {
			t.Verbs = []Verb{VerbIDs, VerbRead}
		}
		names[t.Name], sums[string(sum)] = true, t.Name
		if t.Rate > 0 && t.Burst == 0 {
			t.Burst = max(1, int(t.Rate))
		}
		id, r := &Identity{Name: t.Name}, &rights{token: t}
		copy(id.hash[:], sum)
		if t.Rate > 0 {
			r.limiter = rate.NewLimiter(rate.Limit(t.Rate), t.Burst)
		}
		id.rights.Store(r)
		a.tokens = append(a.tokens, id)
	}
	return a, nil
}

// Replace makes a the successor of old, whose tokens were read before: callers who are
// known already have the rights of a from here on, or none where their token is gone.
// What they have spent of an unchanged rate stays spent. It is called once, before
// anybody uses a.
func (a *Auth) Replace(old *Auth) {
	for _, before := range old.tokens {
		i := slices.IndexFunc(a.tokens, func(id *Identity) bool {
			return id.Name == before.Name && id.hash == before.hash
		})
		if i < 0 {
			before.rights.Store(nil)
			continue
		}
		now, then := a.tokens[i].rights.Load(), before.rights.Load()
		if then.token.Rate == now.token.Rate && then.token.Burst == now.token.Burst {
			now.limiter = then.limiter
		}
		before.rights.Store(now)
		a.tokens[i] = before
	}
}

// Names returns the names of the tokens.
func (a *Auth) Names() []string {
	var names []string
	for _, id := range a.tokens {
		names = append(names, id.Name)
	}
	return names
}

// Anyone returns who callers without a token are; nil means that they have to have one.
func (a *Auth) Anyone() *Identity { return a.anyone }

// Identify returns the identity of a secret. It takes as long for a wrong one as for a right one.
func (a *Auth) Identify(secret string) (*Identity, error) {
	sum := sha256.Sum256([]byte(secret))
	var found *Identity
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.hash[:]) == 1 {
			found = t
		}
	}
	if found == nil {
		return nil, Errorf(Anonymous, "the token is not known")
	}
	return found, nil
}

// May returns why the caller may not do something in a namespace; "" is something that
// belongs to none.
func (id *Identity) May(v Verb, namespace string) error {
	if id == nil {
		return Errorf(Anonymous, "a token is needed")
	}
	r := id.rights.Load()
	if r == nil {
		return errRevoked
	}
	if !slices.Contains(r.token.Verbs, v) {
		return Errorf(Denied, "token %q lacks the verb %q", id.Name, v)
	}
	if !r.sees(namespace) {
		return Errorf(Denied, "token %q is not for namespace %q", id.Name, namespace)
	}
	return nil
}

// Authorize is May for a request, which counts for the caller's rate as n IDs, whatever becomes
// of it: one that fails may have asked the store.
func (id *Identity) Authorize(v Verb, namespace string, n int64) error {
	if err := id.May(v, namespace); err != nil {
		return err
	}
	return id.Spend(n)
}

var errRevoked = Errorf(Anonymous, "the token was revoked: use another one")

// Sees reports whether the caller may know of a namespace.
func (id *Identity) Sees(namespace string) bool {
	if id == nil {
		return false
	}
	r := id.rights.Load()
	return r != nil && r.sees(namespace)
}

func (r *rights) sees(namespace string) bool {
	if len(r.token.Namespaces) == 0 || namespace == "" {
		return true
	}
	return slices.ContainsFunc(r.token.Namespaces, func(p string) bool {
		prefix, wild := strings.CutSuffix(p, "*")
		return p == namespace || wild && strings.HasPrefix(namespace, prefix)
	})
}

// Limited reports whether Spend ever refuses.
func (id *Identity) Limited() bool {
	r := id.rights.Load()
	return r == nil || r.limiter != nil
}

// Spend takes n from what the caller may have at present.
func (id *Identity) Spend(n int64) error {
	r := id.rights.Load()
	switch {
	case r == nil:
		return errRevoked
	case r.limiter == nil:
		return nil
	case n > int64(r.limiter.Burst()):
		return Errorf(TooMuch, "token %q may have %d at once: ask for fewer", id.Name, r.limiter.Burst())
	case !r.limiter.AllowN(time.Now(), int(n)):
		return Errorf(TooMuch, "token %q may have %g a second: ask more slowly", id.Name, r.token.Rate)
	}
	return nil
}
