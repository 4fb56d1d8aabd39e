package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Auth identifies callers. A reload makes another, which succeeds it.
type Auth struct {
	anyone *Identity // nil when a token is needed
	tokens []*Identity

	nodes int      // of each user of this host; 0 for servers
	users sync.Map // of *Identity, by user ID
}

// anybody is the name of callers where no token is needed.
const anybody = "anyone"

// NewAuth returns an Auth that wants one of the tokens.
func NewAuth(tokens []Token) (*Auth, error) {
	a := &Auth{}
	names, known := map[string]bool{}, map[string]string{}
	for i, t := range tokens {
		if t.Name == "" {
			return nil, fmt.Errorf("token %d has no name", i+1)
		}
		sum, err := t.check()
		by := t.Certificate + "\x00" + string(sum)
		switch {
		case err != nil:
			return nil, err
		case names[t.Name]:
			return nil, fmt.Errorf("token %q is given twice: take another name, or remove one", t.Name)
		case known[by] != "":
			return nil, fmt.Errorf("tokens %q and %q are the same: each needs a secret or a certificate of its own",
				known[by], t.Name)
		}
		names[t.Name], known[by] = true, t.Name
		id := newIdentity(t)
		copy(id.hash[:], sum)
		a.tokens = append(a.tokens, id)
	}
	return a, nil
}

func newIdentity(t Token) *Identity {
	id := &Identity{Name: t.Name, certificate: t.Certificate, usage: new(Usage), gate: make(chan struct{}, 1)}
	if t.Name == "" {
		id.Name = anybody
	}
	r := &rights{token: t}
	if t.Rate > 0 {
		r.limiter = rate.NewLimiter(rate.Limit(t.Rate), t.Burst)
	}
	id.rights.Store(r)
	return id
}

// Open lets everybody do everything, which is for listeners that only this
// machine reaches.
func Open() *Auth { return OpenAt(0) }

// OpenAt is Open with a limit: how many IDs and other requests a second all
// callers together get. 0 means no limit.
func OpenAt(perSecond int) *Auth {
	t := Token{Verbs: verbs[:], Rate: float64(perSecond), Burst: perSecond}
	return &Auth{anyone: newIdentity(t)}
}

// NewHostAuth is for agents: the users of this host make IDs, and each may
// hold so many nodes. Without namespaces it is for all that the agent has.
func NewHostAuth(nodes int, namespaces ...string) *Auth {
	t := Token{Verbs: hostVerbs, Namespaces: namespaces}
	return &Auth{anyone: newIdentity(t), nodes: nodes}
}

var hostVerbs = []Verb{VerbIDs, VerbRead, VerbLease}

// User returns the identity of a user of this host for an agent; nil for a
// server.
func (a *Auth) User(id uint32) *Identity {
	if a.nodes == 0 {
		return nil
	}
	if user, ok := a.users.Load(id); ok {
		return user.(*Identity)
	}
	t := a.anyone.rights.Load().token
	t.Name, t.Nodes = fmt.Sprintf("user-%d", id), a.nodes
	user, _ := a.users.LoadOrStore(id, newIdentity(t))
	return user.(*Identity)
}

// Replace makes a the successor of old, with tokens that were read before:
// known callers have the rights of a from here on, or none where their
// token is gone. Their use of an unchanged rate stays spent. It is called
// once, before anybody uses a.
func (a *Auth) Replace(old *Auth) {
	if a.anyone != nil && old.anyone != nil {
		a.anyone = old.anyone.takeRights(a.anyone)
	}
	for _, before := range old.tokens {
		i := slices.IndexFunc(a.tokens, func(id *Identity) bool { return id.Name == before.Name })
		if i < 0 || !a.tokens[i].knownAs(before) {
			before.rights.Store(nil)
		}
		if i < 0 {
			continue
		}
		now := a.tokens[i]
		now.usage = before.usage // a counter that falls looks like a restart
		if now.knownAs(before) {
			a.tokens[i] = before.takeRights(now)
		}
	}
}

// Tokens returns the tokens, in the order of their file.
func (a *Auth) Tokens() (list []Token) {
	for _, id := range a.tokens {
		list = append(list, id.rights.Load().token)
	}
	return list
}

// Used calls each with the first 1,000 tokens and their use, so that
// metrics stay few.
func (a *Auth) Used(each func(t *Token, u *Usage)) {
	const most = 1000
	for _, id := range a.tokens[:min(len(a.tokens), most)] {
		each(&id.rights.Load().token, id.usage)
	}
}

// Anyone returns the identity of callers without a token; nil means that
// they must have one.
func (a *Auth) Anyone() *Identity { return a.anyone }

// Unnamed returns the identity of a caller without a token, by its
// certificate if it has a valid one; nil means that it has no rights.
func (a *Auth) Unnamed(chain []*x509.Certificate) *Identity {
	if a.anyone != nil || len(chain) == 0 || time.Now().After(chain[0].NotAfter) {
		return a.anyone
	}
	for _, id := range a.tokens {
		if id.certificate != "" && hasName(chain[0], id.certificate) {
			return id
		}
	}
	return nil
}

// hasName reports whether a certificate is for a name. The text says which
// kind of name it is, because an authority may check one kind and let
// clients choose another.
func hasName(c *x509.Certificate, name string) bool {
	switch common, ok := strings.CutPrefix(name, "CN="); {
	case ok:
		return c.Subject.CommonName == common
	case strings.Contains(name, ":"):
		return slices.ContainsFunc(c.URIs, func(u *url.URL) bool { return u.String() == name })
	case strings.Contains(name, "@"):
		return slices.Contains(c.EmailAddresses, name)
	}
	return slices.Contains(c.DNSNames, name)
}

// Identify returns the identity of a secret. It takes as long for a wrong
// one as for a right one.
func (a *Auth) Identify(secret string) (*Identity, error) {
	sum := sha256.Sum256([]byte(secret))
	var found *Identity
	for _, t := range a.tokens {
		if t.certificate == "" && subtle.ConstantTimeCompare(sum[:], t.hash[:]) == 1 {
			found = t
		}
	}
	if found == nil {
		return nil, Errorf(Anonymous, "the token is not known")
	}
	return found, nil
}
