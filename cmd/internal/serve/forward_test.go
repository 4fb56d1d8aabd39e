package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// advertised starts a server that others reach by a name that no
// certificate has, with one token.
func advertised(t *testing.T, st store.Store, cert, key string) *Process {
	t.Helper()
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	at := ln.Addr().String()
	noError(t, ln.Close())
	sum := sha256.Sum256([]byte("secret"))
	_, port, _ := net.SplitHostPort(at)
	c := Config{Listeners: Listeners{HTTP: at, Advertise: "localhost:" + port}}
	c.TLSCert, c.TLSKey, c.TokenList = cert, key, []server.Token{{
		Name: "shop", SHA256: hex.EncodeToString(sum[:]), Verbs: []server.Verb{server.VerbLease, server.VerbRead},
	}}
	p, _ := start(t, c, st)
	return p
}

// caller makes requests of one server, with headers.
type caller struct {
	snowfencev1connect.LeaseServiceClient
	header http.Header
}

func callerOf(p *Process, header ...string) caller {
	client, scheme := http.DefaultClient, "http://"
	if p.TLS() {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		client, scheme = &http.Client{Transport: transport}, "https://"
	}
	c := caller{snowfencev1connect.NewLeaseServiceClient(client, scheme+p.HTTP), http.Header{}}
	for i := 0; i < len(header); i += 2 {
		c.header.Set(header[i], header[i+1])
	}
	return c
}

func with[T any](c caller, m *T) *connect.Request[T] {
	r := connect.NewRequest(m)
	for k, v := range c.header {
		r.Header()[k] = v
	}
	return r
}

// reasonOf returns the reason that a server gives for an error.
func reasonOf(err error) string {
	var e *connect.Error
	if errors.As(err, &e) {
		for _, d := range e.Details() {
			if v, err := d.Value(); err == nil {
				if info, ok := v.(*errdetails.ErrorInfo); ok {
					return info.Reason
				}
			}
		}
	}
	return ""
}

// A renewal or release that reaches another server is passed on, once, for
// the same caller. If the lessor is gone, the lease is elsewhere, which
// ends no grant.
func TestRenewalsArePassedOn(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		passOn(t, "", "")
	})
	t.Run("one certificate", func(t *testing.T) { // of an authority that no system knows
		t.Parallel()
		_, cert, key := newCertificate(t)
		passOn(t, cert, key)
	})
}

func passOn(t *testing.T, cert, key string) {
	ctx, st := t.Context(), unitStore(t)
	a, b := advertised(t, st, cert, key), advertised(t, st, cert, key)
	token := []string{"Authorization", "Bearer secret"}
	atA, atB := callerOf(a, token...), callerOf(b, token...)
	acquire := func(c caller) *pb.Lease {
		t.Helper()
		l := must(c.Acquire(ctx, with(c, &pb.AcquireRequest{Namespace: "many", Label: "x", Attempt: rand.Text()})))
		return l.Msg
	}
	renew := func(c caller, l *pb.Lease) (*pb.Lease, error) {
		next, err := c.Renew(ctx, with(c, &pb.RenewRequest{Ticket: l.Ticket, Attempt: rand.Text()}))
		if err != nil {
			return nil, err
		}
		return next.Msg, nil
	}
	one, own := acquire(atA), acquire(atB)
	if one.Node == own.Node || one.Ttl == nil || one.RenewAfter.AsDuration() > one.Ttl.AsDuration()/3 {
		t.Errorf("%v and %v", one, own)
	}
	eventually(t, "the servers know each other", func() bool {
		list, err := server.ListServers(ctx, st)
		return err == nil && len(list) == 2 && list[0].Address != "" && list[1].Address != ""
	})
	next, err := renew(atB, one)
	if err != nil || next.Node != one.Node || next.From != one.From || next.Until < one.Until {
		t.Fatalf("passed on: %v, %v", next, err)
	}
	if _, err := renew(atA, one); reasonOf(err) != "lost" {
		t.Errorf("a ticket that was renewed by the other server: %v", err)
	}
	damaged := &pb.Lease{Ticket: append([]byte(nil), next.Ticket...)}
	damaged.Ticket[len(damaged.Ticket)-5] ^= 1
	if _, err := renew(atB, damaged); reasonOf(err) != "lost" && reasonOf(err) != "invalid" {
		t.Errorf("a changed ticket: %v", err)
	}
	loop := callerOf(b, append(token, server.ForwardedHeader, "somebody")...)
	if _, err := renew(loop, next); reasonOf(err) != "elsewhere" || connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("passed on twice: %v", err)
	}
	if _, err := renew(callerOf(b, "Authorization", "Bearer other"), next); reasonOf(err) != "unauthenticated" {
		t.Errorf("with another token: %v", err)
	}
	renewAll := func(tickets ...*pb.Lease) []*pb.Renewal {
		t.Helper()
		m := &pb.RenewAllRequest{}
		for _, l := range tickets {
			m.Renewals = append(m.Renewals, &pb.RenewRequest{Ticket: l.Ticket, Attempt: rand.Text()})
		}
		out, err := atB.RenewAll(ctx, with(atB, m))
		if err != nil || len(out.Msg.Renewals) != len(tickets) {
			t.Fatalf("%v, %v", out, err)
		}
		return out.Msg.Renewals
	}
	second := acquire(atA)
	out := renewAll(own, next, &pb.Lease{Ticket: []byte("{}")}, second)
	for i, l := range map[int]*pb.Lease{0: own, 1: next, 3: second} {
		if out[i].Lease.GetNode() != l.Node {
			t.Errorf("renewal %d of many: %v", i, out[i])
		}
	}
	if out[2].Reason != "invalid" {
		t.Errorf("no ticket: %v", out[2])
	}
	own, next, second = out[0].Lease, out[1].Lease, out[3].Lease
	release := &pb.ReleaseRequest{Ticket: next.Ticket, Used: &next.From}
	must(atB.Release(ctx, with(atB, release)))
	if _, err := renew(atA, next); reasonOf(err) != "lost" {
		t.Errorf("released at the other server: %v", err)
	}
	list, err := b.service.Management.ListServers(server.WithCaller(ctx, &server.Caller{}), &pb.ListServersRequest{})
	if err != nil || len(list.Servers) != 2 || list.Servers[0].Address+list.Servers[0].PublicKey != "" {
		t.Errorf("clients see %v, %v", list, err)
	}

	ends := func(p *Process) map[string]int64 {
		all := map[string]int64{}
		p.service.Leases.Renewals(func(result string, n int64) { all[result] = n })
		return all
	}
	if at := ends(b); at["forwarded"] != 3 || at["elsewhere"] != 1 || at["renewed"] != 1 || at["lost"] != 0 {
		t.Errorf("b counts %v", at)
	}
	if at := ends(a); at["forwarded"] != 0 || at["elsewhere"] != 0 || at["renewed"] != 3 || at["lost"] < 2 {
		t.Errorf("a counts %v", at)
	}
	for _, h := range a.http {
		_ = h.Close()
	}
	for range 2 { // the second time, it is not asked
		_, err := renew(atB, second)
		if reasonOf(err) != "elsewhere" || connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("the lessor is gone: %v", err)
		}
		if out := renewAll(second, own); out[0].Reason != "elsewhere" || out[1].Lease == nil {
			t.Errorf("the lessor is gone: %v", out)
		} else {
			own = out[1].Lease
		}
	}
}

// Servers are known by the key that stands in the store, whatever names and
// authorities say.
func TestAPeerHasItsKey(t *testing.T) {
	st := unitStore(t)
	ca, cert, key := newCertificate(t)
	a, b := advertised(t, st, cert, key), advertised(t, st, "", "")
	eventually(t, "the servers know each other", func() bool {
		address, err := b.service.Servers.Peer(t.Context(), a.service.ID())
		return err == nil && strings.HasPrefix(address, "https://")
	})
	pair := must(tls.LoadX509KeyPair(cert, key))
	noError(t, b.service.Servers.CheckPeer(pair.Leaf))
	ca.issue(t, cert+".other", key+".other")
	pair = must(tls.LoadX509KeyPair(cert+".other", key+".other"))
	fails(t, b.service.Servers.CheckPeer(pair.Leaf), "a stranger whose certificate the same authority signed")
}
