package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// State is what a namespace is doing.
type State string

// The states of a namespace. Grants are given out in Active ones only.
const (
	Active   State = "active"
	Changing State = "changing" // its layout is being changed, or it is being deleted
	Deleted  State = "deleted"  // a tombstone: the record stays for its floor
)

// Namespace is the scope of uniqueness: which IDs
// its leases are for, and which nodes can be leased.
type Namespace struct {
	Name        string `json:"-"`
	Generation  int64  `json:"-"`           // grants of another generation do not count
	Layout      string `json:"layout"`      // spec, for snowfence.ParseLayout
	Fingerprint string `json:"fingerprint"` // of the scheme
	First       int64  `json:"first"`       // first node that can be leased
	Last        int64  `json:"last"`        // last one; the others are for numbers given by hand
	State       State  `json:"state"`
	// Since is the generation of the layout: older records have ticks of another one.
	Since int64 `json:"since"`
	Start int64 `json:"start"` // tick with which the layout began
	Floor int64 `json:"floor"` // no grant starts below this tick
	// Regions have all IDs that were ever made, and can be made now.
	Regions []Region `json:"-"`
	// MaxTTL and MaxSkew bound the ttl of leases and the error of their clocks, in nanoseconds.
	MaxTTL  time.Duration `json:"max_ttl"`
	MaxSkew time.Duration `json:"max_skew"`
	// Identity is that of the store, where it has one.
	Identity string `json:"identity"`
	// RolledBack is when somebody noticed last that the store may have lost writes, in Unix
	// milliseconds.
	RolledBack int64    `json:"rolled_back,omitempty"`
	Reserved   Reserved `json:"reserved,omitzero"` // sequence numbers below the layout's first
	// of a layout with a key field: snowfence.Secret.ID of each, by number
	Keys []string `json:"keys,omitempty"`
	// signs tickets. It is kept beside the rest, so that whoever prints a namespace does not
	// print it
	ticketKey string
	ledger    ledger
	before    lowered
	record    store.Record
}

// Operator does what operators do with the namespaces of a store, and with their nodes.
type Operator struct{ st store.Store }

// Namespaces returns the [Operator] of a store. It asks the store nothing.
func Namespaces(st store.Store) Operator { return Operator{st} }

// NamespaceOptions says what leases of a namespace may do. Nil and the
// zero value are right for most.
type NamespaceOptions struct {
	// Nodes can be leased. The zero value means all nodes of the layout. For a
	// deleted namespace that comes back, it means its earlier nodes.
	Nodes snowfence.NodeRange

	// MaxTTL is the longest ttl of a lease, and MaxSkew how far a clock may be off. After a backup
	// was restored, IDs go on after MaxTTL and twice MaxSkew. 0 means 15 s, or what a
	// namespace that exists has.
	MaxTTL, MaxSkew time.Duration
}

// Create makes a namespace for IDs of the scheme. If there is one
// already, it must be the same: then nothing changes. A deleted namespace comes
// back above its floor, with the same layout. Nodes that could not be leased
// before, and that o names, count as used by hand until now. A layout whose time
// has run out is refused.
//
// If the layout has a key field, the namespace remembers from
// the beginning which secret has which key number. It adds secrets
// that it does not know yet: this is how secrets are rotated.
func (op Operator) Create(
	ctx context.Context, name string, s *snowfence.Scheme, o *NamespaceOptions,
) (Namespace, error) {
	if err := check(op.st, name, s); err != nil {
		return Namespace{}, err
	}
	now, layout := world.From(ctx).Now(), s.Layout()
	if o == nil {
		o = &NamespaceOptions{}
	}
	c := NamespaceChange{Unused: now, Nodes: o.Nodes}
	for {
		ns, err := readNamespace(ctx, op.st, name)
		switch {
		case errors.Is(err, ErrNoNamespace):
			ns = Namespace{
				Name: name, Since: 1, Last: nodeCount(layout) - 1,
				ticketKey: world.From(ctx).Text(), record: store.Record{Key: store.Key{
					Namespace: name,
					Node:      store.NamespaceNode,
				}},
			}
		case err != nil:
			return Namespace{}, err
		case ns.Fingerprint != s.Fingerprint():
			return Namespace{}, mismatch(name, ns.Fingerprint, s.Fingerprint())
		case ns.State == Changing:
			return Namespace{}, ns.notActive()
		}
		ns.Layout, ns.Fingerprint = layout.String(), s.Fingerprint()
		if ns.record.Nonce == "" || ns.State == Deleted {
			if err := ns.limit(cmp.Or(o.MaxTTL, ns.MaxTTL, usual.ttl), cmp.Or(o.MaxSkew, ns.MaxSkew, usual.skew), now); err != nil {
				return Namespace{}, err
			}
		}
		if ns.Regions == nil {
			if err := ns.begin(layout, false); err != nil {
				return Namespace{}, fmt.Errorf("lease: creating namespace %q: %w", name, err)
			}
		}
		next, err := c.renode(ns, now)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Active && (ns.First != next.First || ns.Last != next.Last):
			err := fmt.Errorf("lease: namespace %q exists with the leasable nodes %d to %d, not %d to %d",
				name, ns.First, ns.Last, next.First, next.Last)
			return Namespace{}, marked{err, ErrExists}
		case ns.State == Active && (cmp.Or(o.MaxTTL, ns.MaxTTL) != ns.MaxTTL || cmp.Or(o.MaxSkew, ns.MaxSkew) != ns.MaxSkew):
			err := fmt.Errorf("lease: namespace %q exists with a longest ttl of %v and a largest skew of %v: "+
				"change it to have others", name, ns.MaxTTL, ns.MaxSkew)
			return Namespace{}, marked{err, ErrExists}
		}
		keys, added, err := ns.rotated(s, true)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Active && !added:
			return ns, nil
		case ns.State == Active: // a secret that it did not know
			ns.Keys = keys
			if ns, err = ns.write(ctx, op.st); !errors.Is(err, store.ErrLost) {
				return ns, err
			}
			continue
		case layout.TickOf(now) > s.MaxTick():
			return Namespace{}, invalidf("lease: namespace %q: the time of the layout ran out on %v: "+
				"nobody could make an ID (%w)",
				name, layout.TimeOf(s.MaxTick()).Format(time.RFC3339), snowfence.ErrLifetime)
		}
		next.Generation, next.State, next.Keys = ns.Generation+1, Active, keys
		ns = next
		if ns.record.Nonce == "" {
			if ns.Identity, err = op.st.Identity(ctx, name); err != nil {
				return Namespace{}, fmt.Errorf("lease: creating namespace %q: %w", name, err)
			}
		}
		// A namespace that comes back keeps the identity of its earlier store.
		// If the store is another one by now, the first lease raises the floor.
		ns, err = ns.write(ctx, op.st)
		if !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// leasable returns the nodes that can be leased.
func (ns Namespace) leasable() snowfence.NodeRange {
	return snowfence.NodeRange{From: ns.First, Until: ns.Last + 1}
}

// Show returns a namespace, also a deleted one.
// It is [ErrNoNamespace] if there is none of the name.
func (op Operator) Show(ctx context.Context, name string) (Namespace, error) {
	return readNamespace(ctx, op.st, name)
}

// List returns all namespaces of a store
// in the order of their names, also deleted ones.
func (op Operator) List(ctx context.Context) ([]Namespace, error) {
	heads, err := op.st.Heads(ctx)
	if err != nil {
		return nil, fmt.Errorf("lease: listing namespaces: %w", err)
	}
	var out []Namespace
	for _, r := range heads {
		if r.Node != store.NamespaceNode {
			continue
		}
		ns, err := decodeNamespace(r)
		if err != nil {
			return nil, err
		}
		out = append(out, ns)
	}
	return out, nil
}

// usable is an error if the namespace gives no grants for a scheme.
func (ns Namespace) usable(s *snowfence.Scheme) error {
	switch {
	case ns.State != Active:
		return ns.notActive()
	case ns.Fingerprint != s.Fingerprint():
		return mismatch(ns.Name, ns.Fingerprint, s.Fingerprint())
	}
	return nil
}

func (ns Namespace) notActive() error {
	if ns.State == Deleted {
		return fmt.Errorf("lease: namespace %q: %w (%w): create it again, or use another one", ns.Name,
			ErrNoNamespace, errDeleted)
	}
	return fmt.Errorf("lease: namespace %q is being changed: wait, or have the operator finish the change", ns.Name)
}

// errDeleted tells a deleted namespace from one that never was.
var errDeleted = errors.New("it was deleted")

// check refuses what no call can work with.
func check(st store.Store, name string, s *snowfence.Scheme) error {
	switch {
	case st == nil:
		return errors.New("lease: the Store is nil")
	case s == nil:
		return errors.New("lease: the Scheme is nil")
	}
	return CheckName(name)
}

// CheckName returns what is wrong with the name of a
// namespace, for servers. The error matches [ErrInvalid].
func CheckName(name string) error {
	if name == "" || len(name) > 64 {
		return invalidf("lease: namespace %q: a name has 1 to 64 characters", clip(name))
	}
	if name == "." || name == ".." || name == "-" {
		return invalidf("lease: namespace %q: paths, shells and programs take it for something else: use another name",
			name)
	}
	for _, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
		if !ok {
			return invalidf("lease: namespace %q: a name has only letters, digits, '-', '_' and '.'", name)
		}
	}
	return nil
}

// rotated returns the secret IDs of the namespace and of a scheme. IDs under
// different numbers never collide, even if a program rotates late. So there is one
// rule: a number means the same secret for everybody, for ever. The operator who
// creates the namespace names its first secrets. A lease only adds secrets after those.
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
			return fail("it does not know the secret of key number %d, and none is given: give it too", i)
		case !operator && i < max(len(n.Keys), 1):
			return fail("it was made without key number %d: "+
				"create it again with its secrets, which changes nothing else", i)
		case i < len(keys):
			keys[i], added = id, true
		default:
			keys, added = append(keys, id), true
		}
	}
	return keys, added, nil
}
