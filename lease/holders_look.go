package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// What a server finds when a holder asks it to look at a namespace, see question. All that it
// writes is from its own store and clock:
//
//   - The identity of the store is another one: the floor is raised.
//   - The store has lost a record, or a generation, that the server had shown: the floor is raised.
//     What is shown is signed with a key in the namespace's record, so that any server over the
//     store knows it again. It counts once: then the generation is above the one that was shown,
//     and the floor above its ticks.
//   - The ttl is longer than any before: it becomes the longest, up to a limit.

// answer answers a question of a holder. Without an error the namespace is now as it has to be.
func (h *holders) answer(ctx context.Context, w Write) error {
	name := w.New.Namespace
	refuse := func(format string, args ...any) error {
		return marked{fmt.Errorf("lease: namespace %q: "+format, append([]any{name}, args...)...), ErrRefused}
	}
	var a asked
	if err := json.Unmarshal([]byte(w.New.Data), &a); err != nil || a.Question == nil ||
		len(a.Question.Gone) > maxEvidence {
		return refuse("a holder does not write the record of a namespace: that takes the right to manage it")
	}
	reach := a.Question.Reach
	for {
		ns, err := readNamespace(ctx, h.Store, name)
		switch {
		case err != nil:
			return err
		case ns.State != Active:
			return fmt.Errorf("%w: %w", ns.notActive(), ErrLost)
		case reach < 0 || reach > max(farthest, ns.LongestTTL):
			return refuse("a ttl and an allowed skew of %v together are more than the %v "+
				"that a server gives to holders: ask for less", reach, farthest)
		}
		id, err := h.Store.Identity(ctx, name)
		if err != nil {
			return fmt.Errorf("lease: asking the store who it is: %w", err)
		}
		lost, err := h.lost(ctx, ns, a.Question.Gone)
		if err != nil {
			return err
		}
		old := ns
		if reach > ns.LongestTTL {
			ns.LongestTTL = (reach + time.Second - 1).Truncate(time.Second) // in few steps
		}
		if id != ns.Identity || lost.raise {
			if ns, err = h.raised(ctx, ns, id, lost); err != nil {
				return err
			}
		}
		switch {
		case ns.Generation != old.Generation || ns.LongestTTL != old.LongestTTL:
			if _, err = ns.write(ctx, h.Store); !errors.Is(err, ErrLost) {
				return err
			}
		case len(a.Question.Gone) > 0 && !lost.over:
			return refuse("the store has everything that was shown to the holder")
		default:
			return nil
		}
	}
}

// loss is what a store has lost, as far as it is proven.
type loss struct {
	over       bool  // the floor was raised since it was shown
	raise      bool  // it is lost, and the floor was not raised since
	until      int64 // of what was lost
	generation int64
}

// lost compares what was shown with what the store has.
func (h *holders) lost(ctx context.Context, ns Namespace, shown []evidence) (l loss, err error) {
	for _, e := range shown {
		mac := e.sign(ns)
		if e.Generation < ns.Since || mac == "" || !hmac.Equal([]byte(mac), []byte(e.MAC)) {
			continue
		}
		if ns.Generation > e.Generation && ns.Floor >= e.Until {
			l.over = true
			continue
		}
		rs, err := h.Store.Get(ctx, []Key{{ns.Name, e.Node}})
		if err != nil {
			return l, fmt.Errorf("lease: reading node %d of namespace %q: %w", e.Node, ns.Name, err)
		}
		if rs[0].Revision >= e.Revision && ns.Generation >= e.Generation {
			continue
		}
		l.raise = true
		l.until, l.generation = max(l.until, e.Until), max(l.generation, e.Generation)
	}
	return l, nil
}

// raised returns the namespace with the floor above everything that can have been granted.
func (h *holders) raised(ctx context.Context, ns Namespace, id string, lost loss) (Namespace, error) {
	layout, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return ns, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	now, err := checkedClock(ctx, h.Store, h.now, ns.slack())
	if err != nil {
		return ns, err
	}
	ns.Floor = max(ns.farthest(layout, now), lost.until)
	ns.Generation = max(ns.Generation, lost.generation) + 1
	ns.Identity = id
	return ns, nil
}

// signing returns the namespace of a record with the key that signs what is shown of it. One that
// was made before there was such a key gets it now.
func (h *holders) signing(ctx context.Context, r Record) (Namespace, error) {
	ns, err := namespaceOf(h.Store, r)
	for ns.ticketKey == "" && ns.State == Active { // what cannot be read has no state
		ns.ticketKey = world.From(ctx).Text()
		if ns, err = ns.write(ctx, h.Store); errors.Is(err, ErrLost) {
			ns, err = readNamespace(ctx, h.Store, r.Namespace)
		}
	}
	return ns, err
}

// shown returns the record of a namespace as holders see it, without the key that signs.
func (ns Namespace) shown() (Record, error) {
	data, err := json.Marshal(storedNamespace{Namespace: &ns, Watched: true})
	if err != nil {
		return Record{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	r := ns.record
	r.Data = string(data)
	return r, nil
}

// evidenceOf returns what a record can prove.
func evidenceOf(r Record) evidence {
	return evidence{Node: r.Node, Nonce: r.Nonce, Revision: r.Revision, Generation: r.Generation, Until: r.Until}
}

// sign returns the MAC of what is shown of a record: HMAC-SHA-256, as JSON. The ticks are those of
// the layout. It is "" where there is no key, and for a record that does not exist.
func (e evidence) sign(ns Namespace) string {
	e.MAC = ""
	data, err := json.Marshal(struct {
		Shown     evidence `json:"shown"` // no ticket begins like this
		Namespace string   `json:"namespace"`
		Layout    string   `json:"layout"`
	}{e, ns.Name, ns.Layout})
	if ns.ticketKey == "" || e.Nonce == "" || err != nil {
		return ""
	}
	m := hmac.New(sha256.New, []byte(ns.ticketKey))
	m.Write(data)
	return hex.EncodeToString(m.Sum(nil))
}
