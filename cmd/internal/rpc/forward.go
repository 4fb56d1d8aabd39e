package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	api "github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// forwardWait is how long another server may take. Then the holder takes
// another node, which is better than to wait until its grant ends.
const forwardWait = 2 * time.Second

// newForwarding returns the connections to other servers; their keys stand
// in the store.
func newForwarding(s *server.Service) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // servers reach each other
	t.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // in place of names and authorities:
		VerifyConnection: func(c tls.ConnectionState) error {
			return s.Servers.CheckPeer(c.PeerCertificates[0])
		},
	}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
	return &http.Client{
		Transport: t,
		// the token is for the server that was named
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// other returns the id of the server that answers a request about a lease
// instead; "" for none.
func (r leases) other(ctx context.Context, l wire.Lease) string {
	if server.CallerOf(ctx).Forwarded {
		return ""
	}
	return r.s.Leases.Lessor(l)
}

// stranger reports whether an answer is of a server that does not know the
// caller or the namespace, as this one does. Another server may have the
// lessor's address by then.
func stranger(k server.Kind) bool {
	return k == server.Anonymous || k == server.Denied || k == server.NoNamespace || k == server.Exists
}

// forwardAll passes some renewals on, and puts the answers where they
// belong.
func (r leases) forwardAll(ctx context.Context, id string, renewals []*pb.RenewRequest, at []int, out []*pb.Renewal) {
	m := &pb.RenewAllRequest{}
	for _, i := range at {
		m.Renewals = append(m.Renewals, renewals[i])
	}
	res, err := forwarded(ctx, r, id, m, api.LeaseServiceClient.RenewAll)
	if err == nil && len(res.Renewals) != len(at) {
		err = fmt.Errorf("its server gave %d answers to %d renewals: %w", len(res.Renewals), len(at),
			lease.ErrElsewhere)
	}
	r.s.Leases.Forwarded(int64(len(at)), err)
	for k, i := range at {
		switch {
		case err != nil:
			out[i] = renewal(nil, err)
		case stranger(server.KindNamed(res.Renewals[k].Reason)):
			out[i] = &pb.Renewal{Reason: server.Elsewhere.Name(), Message: res.Renewals[k].Message}
		default:
			out[i] = res.Renewals[k]
		}
	}
}

// forwarded sends a request on to another server with the caller's token:
// servers over a store have the same tokens. If no answer comes, the error
// is a [lease.ErrElsewhere].
func forwarded[Req, Res any](
	ctx context.Context, r leases, id string, m *Req,
	do func(api.LeaseServiceClient, context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
) (*Res, error) {
	// Otherwise a caller's hang-up would look like a silent server.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwardWait)
	defer cancel()
	address, err := r.s.Servers.Peer(ctx, id)
	if err != nil {
		return nil, err
	}
	req := connect.NewRequest(m)
	req.Header().Set(server.ForwardedHeader, r.s.ID())
	if token := server.CallerOf(ctx).Token; token != "" {
		req.Header().Set("Authorization", token)
	}
	var answers atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answers.Store(true) }})
	res, err := do(api.NewLeaseServiceClient(r.others, address), ctx, req)
	if err == nil {
		return res.Msg, nil
	}
	switch kind, message := answerOf(err); {
	case kind == server.Elsewhere:
		if !answers.Load() { // a refusal is an answer
			r.s.Servers.PeerAway(id)
		}
		return nil, fmt.Errorf("its server does not answer: %w", lease.ErrElsewhere)
	case stranger(kind):
		return nil, fmt.Errorf("its server knows neither the caller nor the namespace: %w", lease.ErrElsewhere)
	default:
		return nil, server.NewError(kind, errors.New(message))
	}
}

// answerOf returns the kind and the message of an error that another server
// sent; [server.Elsewhere] for all others.
func answerOf(err error) (server.Kind, string) {
	if e, ok := errors.AsType[*connect.Error](err); ok {
		for _, d := range e.Details() {
			v, _ := d.Value()
			if info, ok := v.(*errdetails.ErrorInfo); ok {
				return server.KindNamed(info.Reason), e.Message()
			}
		}
	}
	return server.Elsewhere, ""
}

// renewal is the answer to one of many.
func renewal(l *pb.Lease, err error) *pb.Renewal {
	if err != nil {
		return &pb.Renewal{Reason: server.KindOf(err).Name(), Message: err.Error()}
	}
	return &pb.Renewal{Lease: l}
}
