package kubestore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// version is what Kubernetes calls a resource version: of objects of one
// kind, a later one is a greater number (since Kubernetes 1.35 by
// documentation, and always with etcd).
type version uint64

func (s *Store) highestVersion() version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// fell reports whether a version fell, and no other program has changed the
// identity since: only that gives the object a later version than before.
func (s *Store) fell(o *object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64) // noteVersion returns the error
	if v, id := version(n), o.identity(); id != s.told && v > s.changed {
		s.seen, s.back = v, false // earlier versions are of another state of the cluster
	}
	s.told, s.changed = o.identity(), version(n)
	return s.back
}

// noteVersion takes in the version of a write, which is above all that were
// seen before it was sent, unless etcd was restored in between.
func (s *Store) noteVersion(before version, text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("kubestore: the API server gave the version %q, which is no number", text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch v := version(n); {
	case v <= before && before <= s.seen: // before is of this state of the cluster
		s.back = true
	case v > s.seen:
		s.seen = v
	}
	return nil
}

// knownIdentity returns the identity as it was read last. At the first use,
// the object that has it is made.
func (s *Store) knownIdentity(ctx context.Context) (string, error) {
	s.mu.Lock()
	id, seen := s.told, s.seen
	s.mu.Unlock()
	if seen > 0 {
		return id, nil
	}
	told, err := s.ask(ctx)
	return told.Identity, err
}

// ask returns the store's identity, for all namespaces, and its time, which
// can be off by half a second and the duration of a request. It makes the
// object of the identity where that is missing, and changes it after a
// version fell.
func (s *Store) ask(ctx context.Context) (told store.Reply, _ error) {
	for {
		o, now, err := s.api.getObject(ctx, idName)
		if err != nil {
			return told, err
		}
		if o == nil || s.fell(o) {
			if s.looks {
				return told, fmt.Errorf("kubestore: the namespace has no object %s, or it was restored: let a "+
					"program write first: %w", idName, store.ErrReadOnly)
			}
			o, err = s.newIdentity(ctx, o)
			if again, err := pause(ctx, err); again {
				continue
			} else if err != nil {
				return told, err
			}
		}
		if told.Identity = o.identity(); !now.IsZero() {
			told.Now = now.Add(time.Second / 2)
		}
		return told, s.noteVersion(0, o.Metadata.ResourceVersion)
	}
}

// Suspect implements [store.Store].
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if s.looks {
		return fmt.Errorf("kubestore: %w", store.ErrReadOnly)
	}
	for {
		o, _, err := s.api.getObject(ctx, idName)
		if err != nil || o == nil || o.identity() != identity {
			return err
		}
		_, err = s.newIdentity(ctx, o)
		if again, err := pause(ctx, err); !again {
			return err
		}
	}
}

// identity is the text of the object with the identity.
func (o *object) identity() string {
	return o.Metadata.UID + "." + o.Metadata.Annotations[noteIdentity]
}

// newIdentity makes or replaces the object that has the identity.
func (s *Store) newIdentity(ctx context.Context, old *object) (*object, error) {
	o := object{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name: idName, Annotations: map[string]string{noteIdentity: rand.Text()},
	}}
	if old != nil {
		o.Metadata.UID, o.Metadata.ResourceVersion = old.Metadata.UID, old.Metadata.ResourceVersion
	}
	written, err := s.api.putObject(ctx, o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.seen, s.back = written.identity(), 0, false // versions of an earlier state count no longer
	return &written, nil
}
