// Package kubestore keeps leases in the Kubernetes API: a [store.Store] of
// Lease objects of coordination.k8s.io/v1. A cluster needs no other
// database for its IDs.
//
//	config, err := kubestore.InCluster()
//	ids, err := kubestore.Open(ctx, config, nil)
//
// # Promises
//
// The API server has to keep objects in etcd: k3s with its default SQLite
// loses acknowledged writes in a power failure, and needs --cluster-init.
// For a read of one object, or a list without a resource version, the API
// server asks a majority of etcd. A write names the UID and the version of
// the object that it replaces, so it is a compare-and-swap. IDs are unique
// within one namespace of one cluster. While the API server is unreachable,
// no lease is renewed: holders make IDs to the end of their grants, and go
// on by themselves when it answers again.
//
// Each renewal is one write and three reads of the API server. Keep below
// 50 renewals a second in a cluster. With longer ttls, or with "snowfence
// serve", these are enough for more programs.
//
// # Restores: seen and unseen
//
// The store's identity is the UID and a random text of the object
// "snowfence.id". When that object is deleted, grants start above all
// earlier ones. The resource versions of a cluster rise with each write.
// When a running program sees one fall, etcd was restored, and the program
// changes the identity for all programs.
//
// If etcd is restored while no program runs, or with --bump-revision, the
// store does not notice it: run "snowfence store restored" before programs
// start. The API server's clock has a resolution of a second.
//
// # Needs
//
// It needs the verbs get, list, create and update on leases in one
// namespace. The objects have no owner: with one, Kubernetes would delete
// them together with it, and so lose the floors of later grants. Do not
// change or delete the objects by hand; kubectl get leases -l
// snowfence/namespace shows holders.
package kubestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says how leases are kept. A nil *Options uses the defaults.
type Options struct {
	// Timeout limits one request; 0 means 3 s. Keep it well below a third
	// of the ttl.
	Timeout time.Duration

	// ReadOnly makes the store change nothing. All methods fail if no
	// program has used the namespace.
	ReadOnly bool
}

// Store keeps leases in a namespace of a cluster. It is safe for concurrent
// use.
type Store struct {
	store.Basic

	api   *client
	looks bool // Options.ReadOnly

	mu      sync.Mutex // guards what follows
	seen    version
	back    bool    // a version fell, and the identity was not changed yet
	told    string  // the identity, as it was read last
	changed version // of its object then
}

// parallel is how many requests a batch has under way.
const parallel = 8

// Open leases a node, and returns a generator on it. It makes the namespace
// "default" if it is missing. Closing the generator ends the lease. Nil
// options use the defaults.
func Open(ctx context.Context, c *Config, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(c, nil)
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}

// New returns a store. It does no I/O: errors of the cluster show at the
// first use.
func New(c *Config, o *Options) (*Store, error) {
	o = cmp.Or(o, &Options{})
	switch {
	case c == nil || c.Server == "" || c.Namespace == "":
		return nil, errors.New("kubestore: the Config names no server or no namespace")
	case o.Timeout < 0:
		return nil, fmt.Errorf("kubestore: Options.Timeout is %v; it must be positive", o.Timeout)
	}
	api, err := newClient(c, cmp.Or(o.Timeout, 3*time.Second))
	if err != nil {
		return nil, err
	}
	return &Store{api: api, looks: o.ReadOnly}, nil
}

// each runs do for the numbers below n, some at the same time.
func each(n int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			do(i)
			<-slots
		})
	}
	wg.Wait()
}

// Get implements [store.Store]. Each key takes a request, and the identity
// another one.
func (s *Store) Get(ctx context.Context, keys []store.Key) (_ []store.Record, told store.Reply, _ error) {
	records, errs := make([]store.Record, len(keys)), make([]error, len(keys)+1)
	each(len(errs), func(i int) {
		if i == len(keys) {
			told, errs[i] = s.ask(ctx)
			return
		}
		records[i], _, errs[i] = s.readRecord(ctx, keys[i])
	})
	return records, told, errors.Join(errs...)
}

// readRecord gets one record, and the object that it is in.
func (s *Store) readRecord(ctx context.Context, k store.Key) (store.Record, object, error) {
	o, _, err := s.api.getObject(ctx, objectName(k))
	if err != nil || o == nil {
		return store.Record{Key: k}, object{}, err
	}
	r, err := o.record()
	return r, *o, err
}

// List implements [store.Store]. It reads the whole namespace.
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	all, told, err := s.listRecords(ctx, labelNamespace+"="+labelOf(namespace))
	all = slices.DeleteFunc(all, func(r store.Record) bool {
		return r.Namespace != namespace || r.Node < nodes.From || r.Node >= nodes.Until
	})
	slices.SortFunc(all, func(a, b store.Record) int { return cmp.Compare(a.Node, b.Node) })
	return all[:min(len(all), limit)], told, err
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	all, told, err := s.listRecords(ctx, labelHead)
	slices.SortFunc(all, func(a, b store.Record) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return all, told, err
}

func (s *Store) listRecords(ctx context.Context, selector string) (_ []store.Record, told store.Reply, _ error) {
	var items []object
	errs := make([]error, 2)
	each(2, func(i int) {
		if i == 0 {
			told, errs[0] = s.ask(ctx)
		} else {
			items, errs[1] = s.api.listObjects(ctx, selector)
		}
	})
	records := make([]store.Record, 0, len(items))
	for _, o := range items {
		r, recordErr := o.record()
		if recordErr != nil {
			return nil, told, recordErr
		}
		records = append(records, r)
	}
	return records, told, errors.Join(errs...)
}

// Swap implements [store.Store]. Each write takes two requests.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, told store.Reply) {
	errs := make([]error, len(writes))
	err := store.Check(writes)
	if s.looks {
		err = fmt.Errorf("kubestore: %w", store.ErrReadOnly)
	}
	if err == nil {
		told.Identity, err = s.knownIdentity(ctx)
	}
	each(len(writes), func(i int) {
		if errs[i] = err; err == nil {
			errs[i] = s.swapRecord(ctx, writes[i])
		}
	})
	return errs, nil, told
}

// pause reports whether to read the object and try again, because of a
// conflict. Before that, other writers of it have time to finish.
func pause(ctx context.Context, err error) (again bool, _ error) {
	if !is(err, http.StatusConflict) {
		return false, err
	}
	select {
	case <-time.After(10*time.Millisecond + rand.N(90*time.Millisecond)):
		return true, nil
	case <-ctx.Done():
		return false, fmt.Errorf("kubestore: %w", ctx.Err())
	}
}

// swapRecord writes one record. It reads the object's version each time: a
// version that it remembered can be from another write after etcd was
// restored. If an object has the old nonce after a conflict, another part
// of it was changed, such as a label: the write is tried again.
func (s *Store) swapRecord(ctx context.Context, w store.Write) error {
	for sent := false; ; sent = true {
		r, old, err := s.readRecord(ctx, w.New.Key)
		switch {
		case err != nil:
			return err
		case sent && r.Nonce == w.New.Nonce:
			return nil // a proxy sent the write twice, and the first one was done
		case r.Nonce != w.Old:
			return store.ErrLost
		}
		o := objectOf(w.New)
		o.Metadata.UID, o.Metadata.ResourceVersion = old.Metadata.UID, old.Metadata.ResourceVersion
		before := s.highestVersion()
		written, err := s.api.putObject(ctx, o)
		if again, err := pause(ctx, err); again {
			continue
		} else if err != nil {
			return err
		}
		return s.noteVersion(before, written.Metadata.ResourceVersion)
	}
}
