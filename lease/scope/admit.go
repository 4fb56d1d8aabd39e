package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/store"
)

// Admit returns a namespace that gives grants to a lease of a scheme, and
// the answer of the store. The namespace is active, has the scheme, and
// fits, which is called with it, is no error. Admit adds the scheme's new
// secrets, and what the store tells more of its identity.
//
// If the identity is not the namespace's, the store is another one, and
// Admit adds nothing: first the floor has to be raised ([Namespace.Raise]).
func (op Operator) Admit(
	ctx context.Context, namespace string, s *snowfence.Scheme, fits func(Namespace) error,
) (Namespace, answer.Answer, error) {
	for {
		ns, a, err := readNamespace(ctx, op.st, namespace)
		if err == nil {
			err = ns.Usable(s)
		}
		if err == nil {
			err = fits(ns)
		}
		if err != nil {
			return Namespace{}, a, err
		}
		same, err := ns.Identify(a.Identity)
		if err != nil {
			return Namespace{}, a, err
		}
		keys, added, err := ns.rotated(s, false)
		if err != nil || !same || !added && a.Identity == ns.Identity {
			return ns, a, err
		}
		ns.Keys = keys
		ns.identified(a.Identity)
		ns, err = ns.write(ctx, op.st)
		if !errors.Is(err, store.ErrLost) {
			return ns, a, err
		}
	}
}

// Raise has grants begin above everything that can have been used before
// now, and above the tick reached, in a store that may have lost writes and
// has this identity. All grants end: another generation begins, later than
// after. The error is a [store.ErrLost] if another process wrote the
// namespace since it was read.
func (ns Namespace) Raise(
	ctx context.Context, st store.Store, now time.Time, id string, reached, after int64,
) (Namespace, error) {
	ns.raise(now, id)
	ns.Floor = max(ns.Floor, reached)
	ns.Generation = max(ns.Generation, after) + 1
	return ns.write(ctx, st)
}

// Signer signs the tickets of the namespace, and verifies them. It is nil
// where none was signed yet.
func (ns Namespace) Signer() *ticket.Signer { return ticket.NewSigner(ns.ticketKey) }

// Signing makes the key of Signer, if there is none. The error is a
// [store.ErrLost] if another process wrote the namespace since it was read.
func (ns Namespace) Signing(ctx context.Context, st store.Store) (Namespace, error) {
	if ns.ticketKey != "" {
		return ns, nil
	}
	ns.ticketKey = world.From(ctx).Text()
	return ns.write(ctx, st)
}

// Identify reports whether a store's identity is the namespace's.
//
// Invariant: each source that a namespace has seen is compared until an
// operator accepts less. So an identity that leaves a source out is an
// error: the present grant may be used to its end.
func (ns Namespace) Identify(id string) (same bool, err error) {
	same, less := store.Compare(id, ns.Identity)
	if less {
		return false, fault.Refusedf("lease: namespace %q: the store hides a part of its identity that "+
			"it showed before (it was %q, and is %q): give the user back the rights that \"snowfence doctor\" names, "+
			"or accept that fewer losses are noticed: snowfence namespace confirm %s",
			ns.Name, ns.Identity, id, ns.Name)
	}
	return same, nil
}

// NoteIdentity writes an identity of the namespace's store that names more
// sources. The error is a [store.ErrLost] if another process wrote the
// namespace since it was read.
func (ns Namespace) NoteIdentity(ctx context.Context, st store.Store, id string) error {
	ns.identified(id)
	_, err := ns.write(ctx, st)
	return err
}

// identified gives a namespace another identity of its store, or that of
// the store that it moves to. The caller has compared the one before.
//
// Invariant: right counts stay right, and lost ones stay lost.
func (ns *Namespace) identified(id string) {
	if ns.ledger.Identity != "" && ns.ledger.Identity == ns.Identity { // without one, none are known to be right
		ns.ledger.Identity = id
	}
	ns.Identity = id
}

// rotated returns the secret IDs of the namespace and of a scheme. IDs
// under different numbers never collide, even if a program rotates late. So
// there is one rule: a number means the same secret for everybody, for
// ever. The creator of the namespace names its first secrets. A lease only
// adds secrets after those.
func (n Namespace) rotated(s *snowfence.Scheme, operator bool) (keys []string, added bool, err error) {
	if s.Layout().Bits(snowfence.FieldKey) == 0 {
		return n.Keys, false, nil
	}
	fail := func(format string, args ...any) ([]string, bool, error) {
		args = append([]any{n.Name, snowfence.ErrKey}, args...)
		return nil, false, fmt.Errorf("lease: namespace %q: %w: "+format, args...)
	}
	keys = slices.Clone(n.Keys)
	for i, id := range s.KeyIDs() {
		known := ""
		if i < len(keys) {
			known = keys[i]
		}
		switch {
		case known != "" && (id == "" || id == known):
		case known != "":
			return fail("key number %d is secret %s there and %s here: "+
				"give the secrets in the order in which they came into use, and a new one last", i, known, id)
		case id == "":
			return fail("it does not know the secret of key number %d, and none is given: give that secret, too", i)
		case !operator && i < max(len(n.Keys), 1):
			return fail("it was made without key number %d: create it again with its secrets; nothing else changes", i)
		case i < len(keys):
			keys[i], added = id, true
		default:
			keys, added = append(keys, id), true
		}
	}
	return keys, added, nil
}
