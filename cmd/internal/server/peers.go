package server

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// ForwardedHeader marks a request that another server passed on. It goes no
// further, so that two servers that take each other for the lessor pass
// nothing in circles.
const ForwardedHeader = "Snowfence-Forwarded"

// peers are the other servers over the store, by their records in it.
type peers struct {
	gate    chan struct{}     // semaphore of one: hold it for what follows
	read    time.Time         // the list is not read again for a second
	address map[string]string // by id, of those that have one and did not fail to answer since

	keys atomic.Pointer[map[string]bool] // of their certificates
}

// peersFor is how long the list of servers is not read again, nor a server
// asked that did not answer.
const peersFor = time.Second

// init makes the zero value ready.
func (p *peers) init() {
	p.gate = make(chan struct{}, 1)
	p.keys.Store(&map[string]bool{})
}

// ID names this server among those over the store. It is another one after
// each start.
func (s *Service) ID() string { return s.id }

// Lessor returns the id of another server that alone can renew a lease; ""
// if this one can.
func (s *Service) Lessor(l wire.Lease) string {
	if id := lessor.IDOf(l); id != s.id {
		return id
	}
	return ""
}

// Peer returns the URL of another server. The error is a
// [lease.ErrElsewhere] if it is not known or did not answer a moment ago.
func (s *Service) Peer(ctx context.Context, id string) (string, error) {
	p := &s.peers
	select {
	case p.gate <- struct{}{}:
		defer func() { <-p.gate }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	now := s.now()
	if p.address[id] == "" && now.Sub(p.read) >= peersFor {
		list, err := listServers(ctx, s.store, s.id)
		if err != nil {
			return "", err // it may be there
		}
		keys := map[string]bool{}
		p.read, p.address = now, map[string]string{}
		for _, one := range list {
			p.address[one.Id] = one.Address
			keys[one.PublicKey] = true
		}
		p.keys.Store(&keys)
	}
	if address := p.address[id]; address != "" {
		return address, nil
	}
	return "", fmt.Errorf("its server is gone, does not answer, or has no --advertise: %w", lease.ErrElsewhere)
}

// PeerAway notes that a server did not answer.
func (s *Service) PeerAway(id string) {
	s.peers.gate <- struct{}{}
	defer func() { <-s.peers.gate }()
	delete(s.peers.address, id)
	s.peers.read = s.now()
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
func (s *Service) CheckPeer(c *x509.Certificate) error {
	if !(*s.peers.keys.Load())[KeyOf(c)] {
		return errors.New("no server over the store has the key of this certificate")
	}
	return nil
}
