package server

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Servers are those over the store, by their records in it: this one keeps
// its own, and finds the others. All methods are safe for concurrent use.
type Servers struct {
	core   *Core
	spaces *Spaces

	gate  chan struct{} // semaphore of one: hold it to read the list
	peers atomic.Pointer[peers]
}

// peers are the other servers by the last list. Their values do not change.
type peers struct {
	read    time.Time         // the list is not read again for a second
	address map[string]string // by id, of those that have one and did not fail to answer since
	keys    map[string]bool   // of their certificates
}

// peersFor is the time without another read of the list, and without a
// request to a server that did not answer.
const peersFor = time.Second

func newServers(c *Core, spaces *Spaces) *Servers {
	s := &Servers{core: c, spaces: spaces, gate: make(chan struct{}, 1)}
	s.peers.Store(&peers{})
	return s
}

// Peer returns the URL of another server. The error is a
// [lease.ErrElsewhere] if it is not known or did not answer a moment ago.
func (s *Servers) Peer(ctx context.Context, id string) (string, error) {
	p, err := s.peers.Load(), error(nil)
	if p.address[id] == "" { // a known one does not wait for the list
		p, err = s.readPeers(ctx)
	}
	if err != nil {
		return "", err // it may be there
	}
	if address := p.address[id]; address != "" {
		return address, nil
	}
	return "", fmt.Errorf("its server is gone, does not answer, or has no --advertise: %w", lease.ErrElsewhere)
}

// readPeers reads the list of servers, unless that was done a moment ago.
func (s *Servers) readPeers(ctx context.Context) (*peers, error) {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p, now := s.peers.Load(), s.core.now()
	if now.Sub(p.read) < peersFor {
		return p, nil
	}
	list, err := listServers(ctx, s.core.store, s.core.id)
	if err != nil {
		return nil, err
	}
	p = &peers{now, map[string]string{}, map[string]bool{}}
	for _, one := range list {
		p.address[one.Id] = one.Address
		p.keys[one.PublicKey] = true
	}
	s.peers.Store(p)
	return p, nil
}

// PeerAway notes that a server did not answer.
func (s *Servers) PeerAway(id string) {
	for {
		old := s.peers.Load()
		p := &peers{s.core.now(), maps.Clone(old.address), old.keys}
		delete(p.address, id)
		if s.peers.CompareAndSwap(old, p) {
			return
		}
	}
}

// KeyOf names the public key of a certificate.
func KeyOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// CheckPeer returns why a connection does not lead to another server: the
// records of servers have another key than this certificate. They say where
// servers are, so they say with which keys, too, and a certificate needs
// neither the name of a pod nor an authority that servers know.
func (s *Servers) CheckPeer(c *x509.Certificate) error {
	if !s.peers.Load().keys[KeyOf(c)] {
		return errors.New("no server over the store has the key of this certificate")
	}
	return nil
}

// ForwardedHeader marks a request that another server passed on. It goes no
// further, so that two servers that take each other for the lessor pass
// nothing in circles.
const ForwardedHeader = "Snowfence-Forwarded"

// Announce keeps the record of this server until ctx ends. A failure only
// hides it from the list.
func (s *Servers) Announce(ctx context.Context) {
	a := &announcer{servers: s, since: s.core.now().UTC()}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		a.writeIfDue(ctx)
		select {
		case <-look.C:
		case <-ctx.Done():
			a.emptyRecord(context.WithoutCancel(ctx))
			return
		}
	}
}

// storeNow returns the time of the store, or of this machine if the store
// has no clock.
func (s *Servers) storeNow(ctx context.Context) (time.Time, error) {
	reply, err := store.Ask(ctx, s.core.store, store.Servers)
	if err == nil && reply.Now.IsZero() {
		reply.Now = s.core.now()
	}
	return reply.Now, err
}
