package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"

	"github.com/snowfence/snowfence/cmd/internal/trail"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// CertificateName is what the log calls the holder of a client certificate; "" without one.
func CertificateName(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return ""
	}
	return Clip(chain[0].Subject.String())
}

// Caller is who makes a request, and what the service says of it beside the answer.
type Caller struct {
	*Identity          // nil is an unknown caller
	From        string // address of the client
	Certificate string // subject of the client's; "" without one
	Reason      string // why it manages; "" if it did not say
	Token       string // the header Authorization as it came, to pass a renewal on with
	Forwarded   bool   // another server passed the request on: it goes no further
	Made        bool   // set by the service: the request made what it asked for
}

// Identify returns who makes a request.
type Identify func(r *http.Request) (*Identity, error)

// Caller returns the caller of a request, who is unknown after an error.
func (who Identify) Caller(r *http.Request) (*Caller, error) {
	id, err := who(r)
	if err != nil {
		id = nil
	}
	c := &Caller{
		Identity: id, From: r.RemoteAddr, Reason: r.Header.Get("Snowfence-Reason"),
		Token: r.Header.Get("Authorization"), Forwarded: r.Header.Get(ForwardedHeader) != "",
	}
	if r.TLS != nil {
		c.Certificate = CertificateName(r.TLS.PeerCertificates)
	}
	if wrong := trail.CheckReason(c.Reason); err == nil && wrong != nil {
		err = NewError(Invalid, wrong)
	}
	return c, err
}

type callerKey struct{}

// WithCaller returns the context of a request.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who makes a request, if the context says.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// Request returns what the log says of the caller.
func (c *Caller) Request(name string) Request {
	q := Request{Name: Clip(name), From: c.From, Certificate: c.Certificate}
	if c.Identity != nil {
		q.Caller = c.Name
	}
	return q
}

// manage returns a store for an action of a manager. done ends the action and writes down what was
// changed, also in the log.
func (s *Service) manage(ctx context.Context, st store.Store, action string) (store.Store, func()) {
	c := CallerOf(ctx)
	q := c.Request("")
	a := trail.Actor{Action: action, Who: cmp.Or(q.Certificate, q.Caller, anybody), From: c.From, Reason: c.Reason}
	if host, _, err := net.SplitHostPort(c.From); err == nil {
		a.From = host
	}
	r := trail.Record(st, a)
	return r, func() {
		ctx, cancel := withStoreTimeout(context.WithoutCancel(ctx)) // the client may have gone
		defer cancel()
		list, err := r.End(ctx)
		for _, e := range list {
			s.opts.Logger.Info("managed", "action", e.Action, "namespace", e.Namespace, "sequence", e.Sequence,
				"who", e.Who, "from", e.From, "reason", e.Reason, "done", e.Done)
		}
		if err != nil {
			s.opts.Logger.Warn("an event does not say that its action is done", "action", action, "cause", err)
		}
	}
}

// TokensRead writes down which tokens changed, without their secrets.
func (s *Service) TokensRead(ctx context.Context, before, after []Token) {
	was, is := tokenTexts(before), tokenTexts(after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var changes []*pb.Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was[name] != is[name] {
			changes = append(changes, &pb.Change{Field: "token " + name, Before: was[name], After: is[name]})
		}
	}
	if len(changes) == 0 {
		return
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	if err := trail.Add(ctx, s.counts, trail.Actor{Action: "token reload", Who: s.Label()}, changes); err != nil {
		s.opts.Logger.Warn("no event says which tokens changed", "cause", err)
	}
}

// tokenTexts returns what tokens allow, by name. Of the secret's hash it shows a part.
func tokenTexts(list []Token) map[string]string {
	out := map[string]string{}
	for _, t := range list {
		t.SHA256 = t.SHA256[:min(len(t.SHA256), 8)]
		text, err := json.Marshal(t)
		if err == nil {
			out[t.Name] = string(text)
		}
	}
	return out
}

// ListEvents lists what was done to namespaces and sequences that the caller may see.
func (s *Service) ListEvents(ctx context.Context, m *pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	c := CallerOf(ctx)
	list, err := trail.List(ctx, s.counts, m.Subject, func(e *pb.Event) bool {
		name := e.Namespace + e.Sequence
		return c.Sees(name) && (name != "" || c.SeesAll())
	})
	return &pb.ListEventsResponse{Events: list}, err
}
