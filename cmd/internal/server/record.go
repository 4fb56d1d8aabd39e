package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// announcer keeps the record of a server.
type announcer struct {
	servers *Servers
	since   time.Time
	record  store.Record   // as it was last written; without a nonce until that is known
	next    time.Time      // when it is written again
	steady  *pb.ServerInfo // what it said then, without what changes all the time
	failed  bool
}

// writeIfDue writes the record if it is time to, or if the server holds
// other nodes or is ready again.
func (a *announcer) writeIfDue(ctx context.Context) {
	s := a.servers.core
	nodes, failing := a.servers.spaces.heldNodes()
	info := &pb.ServerInfo{
		Id: s.id, Version: s.opts.Version, Since: timestamppb.New(a.since), Nodes: nodes,
		Ready: s.Ready(ctx) == nil, Failing: failing, Address: s.opts.URL, PublicKey: s.opts.PublicKey(),
	}
	steady := proto.CloneOf(info)
	for _, h := range steady.Nodes {
		h.Sublet = nil // it changes all the time
	}
	if s.now().Before(a.next) && (a.failed || proto.Equal(a.steady, steady)) {
		return
	}
	data, err := view.JSON(info)
	if err != nil {
		return
	}
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	if err = s.checkRecord(ctx); err == nil {
		err = a.writeRecord(ctx, string(data))
	}
	a.steady = steady
	if err != nil {
		a.record, a.next = store.Record{}, s.now().Add(announceAgain)
		if !a.failed {
			s.opts.Logger.Debug("this server is not in the list of servers", "cause", err)
		}
	} else {
		a.next = s.now().Add(announceEvery)
	}
	a.failed = err != nil
}

// writeRecord writes the record, and finds a place for it first if it has
// none. Without data it empties the record, if there is one.
func (a *announcer) writeRecord(ctx context.Context, data string) error {
	err := error(nil)
	for range 8 { // servers that start together want the same place
		old, now, found := a.record, time.Time{}, error(nil)
		if old.Nonce == "" {
			if old, now, found = a.findPlace(ctx); found != nil {
				return found
			}
			if _, own := serverOf(old, now); data == "" && !own {
				return nil
			}
		} else if now, found = a.servers.storeNow(ctx); found != nil {
			return found
		}
		r := store.Record{
			Key: old.Key, Nonce: rand.Text(), Revision: old.Revision + 1, Label: a.servers.core.opts.Label,
			At: now.UnixMilli(), Data: data,
		}
		if _, err = store.Put(ctx, a.servers.core.store, store.Write{Old: old.Nonce, New: r}); err == nil {
			return a.keepRecord(ctx, r)
		}
		a.record = store.Record{}
		if !errors.Is(err, store.ErrLost) {
			return err
		}
	}
	return err
}

// keepRecord remembers a record that the store acknowledged.
//
// Invariant: no record is forgotten without a look at its place after the
// next write, which may have gone over an older one.
func (a *announcer) keepRecord(ctx context.Context, r store.Record) error {
	if err := a.servers.core.checkRecord(ctx); err != nil {
		return err
	}
	id, err := store.Identity(ctx, a.servers.core.store, store.Servers)
	if err != nil {
		return fmt.Errorf("reading the store's identity: %w", err)
	}
	a.record = r
	a.servers.core.lastWrite.Store(&lastWrite{r, id})
	return nil
}

// findPlace returns this server's record, or the record of a server that is
// gone, or the first that does not exist.
func (a *announcer) findPlace(ctx context.Context) (store.Record, time.Time, error) {
	records, now, err := readServers(ctx, a.servers.core.store)
	if err != nil {
		return store.Record{}, now, err
	}
	free := store.Record{Key: store.Key{Namespace: store.Servers}}
	for _, r := range records {
		other, there := serverOf(r, now)
		switch {
		case there && other.Id == a.servers.core.id: // a write whose answer was lost
			return r, now, nil
		case there && free.Nonce == "":
			free.Node = r.Node + 1
		case !there && free.Nonce == "":
			free = r
		}
	}
	if free.Node >= maxServers {
		return free, now, fmt.Errorf("the list of servers is full: it has %d", maxServers)
	}
	return free, now, nil
}

// emptyRecord empties the record, so that others do not list a server that
// has stopped.
func (a *announcer) emptyRecord(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	// The stop may have interrupted a write: then it is not known whether
	// there is a record.
	if err := a.writeRecord(ctx, ""); err != nil {
		a.servers.core.opts.Logger.Debug("other servers still list this server for a minute", "cause", err)
	}
}

// Each server over a store keeps a record of itself there, for people. No
// lease depends on it. No namespace or sequence can have its name. A server
// takes over the record of one that is gone, so there are never more
// records than servers at one time.
const (
	announceEvery = 20 * time.Second // how often a server writes its record if nothing changes
	announceAgain = 5 * time.Second  // after a failure
	goneAfter     = 3 * announceEvery
	maxServers    = 1024
	maxAnnounced  = 256 // namespaces in a record
)

// LateAfter is the age from which a record no longer counts as that of a
// ready server.
const LateAfter = 30 * time.Second

// lastWrite is the last write of a server's record that the store
// acknowledged.
type lastWrite struct {
	record   store.Record
	identity string // of the store then
}

// checkRecord gives a store another identity if it lost the record of this
// server, or has an older one: such a store would hand out IDs and numbers
// again. Another server may have taken the record: then it is a later one.
func (s *Core) checkRecord(ctx context.Context) error {
	w := s.lastWrite.Load()
	if w == nil {
		return nil
	}
	rs, _, err := s.store.Get(ctx, []store.Key{w.record.Key})
	if err != nil {
		return fmt.Errorf("looking for the record of this server: %w", err)
	}
	if r := rs[0]; r.Revision > w.record.Revision || r.Nonce == w.record.Nonce {
		return nil
	}
	if err := s.store.Suspect(ctx, w.identity); err != nil {
		return fmt.Errorf("giving the store another identity: %w", err)
	}
	if s.lastWrite.CompareAndSwap(w, nil) {
		s.opts.Logger.Error(lease.EventRolledBack, "revision", rs[0].Revision, "acknowledged", w.record.Revision)
	}
	return nil
}
