package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// stranger answers as the server that a ticket names.
type stranger struct {
	snowfencev1connect.UnimplementedLeaseServiceHandler
	says   server.Kind
	answer []*pb.Renewal
	calls  int
	header http.Header // of the last call
}

func (s *stranger) called(h http.Header) error {
	s.calls++
	s.header = h
	err := connect.NewError(s.says.Code(), errors.New("so it is"))
	if detail, failed := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: s.says.Name()}); failed == nil {
		err.AddDetail(detail)
	}
	return err
}

func (s *stranger) Renew(_ context.Context, r *connect.Request[pb.RenewRequest]) (*connect.Response[pb.Lease], error) {
	return nil, s.called(r.Header())
}

func (s *stranger) Release(
	_ context.Context, r *connect.Request[pb.ReleaseRequest],
) (*connect.Response[pb.ReleaseResponse], error) {
	return nil, s.called(r.Header())
}

func (s *stranger) RenewAll(
	_ context.Context, r *connect.Request[pb.RenewAllRequest],
) (*connect.Response[pb.RenewAllResponse], error) {
	_ = s.called(r.Header())
	return connect.NewResponse(&pb.RenewAllResponse{Renewals: s.answer}), nil
}

// serveStranger starts a stranger, whose record in the store has no key of
// a certificate, and returns a ticket that names it.
func serveStranger(
	t *testing.T, st store.Store, name string, start func(*httptest.Server),
) (*stranger, *httptest.Server, wire.Ticket) {
	t.Helper()
	s := &stranger{}
	path, h := snowfencev1connect.NewLeaseServiceHandler(s)
	mux := http.NewServeMux()
	mux.Handle(path, h)
	ts := httptest.NewUnstartedServer(mux)
	ts.Config.Protocols = new(http.Protocols)
	ts.Config.Protocols.SetUnencryptedHTTP2(true)
	ts.Config.Protocols.SetHTTP2(true)
	start(ts)
	t.Cleanup(ts.Close)
	r := store.Record{
		Key: store.Key{Namespace: store.Servers, Node: 700 + int64(len(name))}, Nonce: rand.Text(), Revision: 1,
		Label: name, At: time.Now().UnixMilli(), Data: fmt.Sprintf(`{"id":%q,"address":%q}`, name, ts.URL),
	}
	must(store.Put(t.Context(), st, store.Write{New: r}))
	return s, ts, ticketOf(t, st, name)
}

// ticketOf returns a ticket of a lessor of another process.
func ticketOf(t *testing.T, st store.Store, name string) wire.Ticket {
	t.Helper()
	ns := must(scope.Namespaces(st).Show(t.Context(), "many"))
	scheme := must(snowfence.NewScheme(ns.Layout))
	open := func(ctx context.Context, _ snowfence.NodeRange, life string) (*sublet.Server, error) {
		l, err := lease.Open(ctx, st, "many", scheme, &lease.Options{Nodes: 64, Idle: -1})
		if err != nil {
			return nil, err
		}
		return sublet.New(l, life)
	}
	l := lessor.New(name, 2, open, nil, func(error) {})
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	a := must(l.Acquire(t.Context(), "many", wire.Request{Label: "x"}))
	return a.Ticket
}

// Only the lessor itself can say that a lease is lost. What a server says
// at whose address another one may be by now, is that the lease is
// elsewhere: clients stop at 404 and 409.
func TestAnswersOfAnotherServer(t *testing.T) {
	ctx, st := t.Context(), unitStore(t)
	impostor, _, forImpostor := serveStranger(t, st, "another", func(ts *httptest.Server) {
		ts.EnableHTTP2 = true
		ts.StartTLS()
	})
	s, ts, ticket := serveStranger(t, st, "stranger", (*httptest.Server).Start)
	b := advertised(t, st, "", "") // after them: its record takes the next place
	at := callerOf(b, "Authorization", "Bearer secret")
	for says, want := range map[server.Kind]string{
		server.Lost: "lost", server.Unavailable: "unavailable", server.Exhausted: "exhausted",
		server.NoNamespace: "elsewhere", server.Exists: "elsewhere", server.Denied: "elsewhere",
		server.Anonymous: "elsewhere",
	} {
		s.says, s.calls = says, 0
		_, err := at.Renew(ctx, with(at, &pb.RenewRequest{Ticket: ticket, Attempt: rand.Text()}))
		_, gone := at.Release(ctx, with(at, &pb.ReleaseRequest{Ticket: ticket}))
		if reasonOf(err) != want || reasonOf(gone) != want || s.calls != 2 {
			t.Errorf("%s becomes %v and %v in %d calls, want %s", says.Name(), err, gone, s.calls, want)
		}
		if s.header.Get(server.ForwardedHeader) == "" || s.header.Get("Authorization") != "Bearer secret" {
			t.Errorf("a request is passed on with %v", s.header)
		}
	}
	many := &pb.RenewAllRequest{Renewals: []*pb.RenewRequest{
		{Ticket: ticket, Attempt: rand.Text()}, {Ticket: ticket, Attempt: rand.Text()},
	}}
	reason := func(r server.Kind) *pb.Renewal { return &pb.Renewal{Reason: r.Name()} }
	for name, c := range map[string]struct {
		answer []*pb.Renewal
		want   []string
	}{
		"as they are":     {[]*pb.Renewal{reason(server.Lost), reason(server.Exhausted)}, []string{"lost", "exhausted"}},
		"of no authority": {[]*pb.Renewal{reason(server.Denied), reason(server.NoNamespace)}, []string{"elsewhere", "elsewhere"}},
		"too few":         {[]*pb.Renewal{reason(server.Lost)}, []string{"elsewhere", "elsewhere"}},
	} {
		s.answer = c.answer
		out, err := at.RenewAll(ctx, with(at, many))
		if err != nil || len(out.Msg.Renewals) != 2 || out.Msg.Renewals[0].Reason != c.want[0] ||
			out.Msg.Renewals[1].Reason != c.want[1] {
			t.Errorf("answers %s: %v, %v", name, out, err)
		}
	}
	_, err := at.Renew(ctx, with(at, &pb.RenewRequest{Ticket: forImpostor, Attempt: rand.Text()}))
	if reasonOf(err) != "elsewhere" || impostor.calls != 0 {
		t.Errorf("with a key that no server has: %v, and it got %v", err, impostor.header)
	}
	ts.Config.Handler = http.NotFoundHandler() // something else is at its address
	gone := ticketOf(t, st, "nobody")
	for message, ticket := range map[string]wire.Ticket{"does not answer:": ticket, "is gone": gone} {
		_, err = at.Renew(ctx, with(at, &pb.RenewRequest{Ticket: ticket, Attempt: rand.Text()}))
		if reasonOf(err) != "elsewhere" || connect.CodeOf(err) != connect.CodeUnavailable ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("no server of ours: %v", err)
		}
	}
}

// A caller who hung up, or whose request the other server refused, made
// that server away for all callers.
func TestCallersMakeNoServerAway(t *testing.T) {
	t.Parallel()
	st := unitStore(t)
	_, ts, ticket := serveStranger(t, st, "slow", (*httptest.Server).Start)
	answer := make(chan struct{}, 2)
	ts.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusTooManyRequests) // as where there is no room for a request
	})
	b := advertised(t, st, "", "")
	at := callerOf(b, "Authorization", "Bearer secret")
	renew := func(wait time.Duration) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		_, err := at.Renew(ctx, with(at, &pb.RenewRequest{Ticket: ticket, Attempt: rand.Text()}))
		fails(t, err, "a renewal")
	}
	for _, wait := range []time.Duration{50 * time.Millisecond, time.Minute} {
		if wait == time.Minute {
			answer <- struct{}{} // of the caller who left
			answer <- struct{}{}
		}
		renew(wait)
		for range 20 { // the servers go on without the caller
			if _, err := b.service.Servers.Peer(t.Context(), "slow"); err != nil {
				t.Fatalf("after %v: %v", wait, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, when := range []string{"frozen", "gone"} {
		if when == "gone" {
			ts.CloseClientConnections()
			ts.Close()
			eventually(t, "the other server is asked again", func() bool {
				_, err := b.service.Servers.Peer(t.Context(), "slow")
				return err == nil
			})
		}
		renew(time.Minute)
		_, err := b.service.Servers.Peer(t.Context(), "slow")
		fails(t, err, "a server that is "+when)
	}
}
