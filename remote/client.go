// Package remote is the Go client of a Snowfence server, "snowfence serve".
//
// Usually a process leases a node from the server and makes IDs itself,
// without a round trip for each:
//
//	c, err := remote.Dial([]string{"https://ids-1:8080", "https://ids-2:8080"}, &remote.Options{Token: token})
//	g, err := c.Open(ctx, &lease.Options{Namespace: "orders"})
//	id, err := g.Next(ctx)
//
// The token then needs the verbs read and lease. The server applies the
// rules of package lease, and the process keeps a ticket for its lease
// ([Client.Lease]). A process that should not have a node uses a
// [Client.Source], which gets IDs from the server, some of them ahead.
// [Client.Sequence] gives out numbers of the server's sequences.
package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// Options says how to reach the servers. Nil and the zero value use the
// defaults.
type Options struct {
	// Token authenticates the client; "" is for servers without
	// authentication.
	Token string

	// TokenFile is a file with the token, in place of Token. It is read
	// before each request, so that the token can be replaced. While it is
	// missing or empty, the last one stays in use.
	TokenFile string

	// TLS is the configuration for https; nil means the system's roots.
	TLS *tls.Config

	// Timeout limits a request to one server; 0 means 5 s. A request for
	// many leases gets a millisecond more for each. Keep it below a third
	// of their ttl: then a server that hangs ends none. Use a longer one in
	// a process that gets little processor time.
	Timeout time.Duration
}

// Client talks to servers. Its methods are safe for concurrent use.
type Client struct {
	servers []*peer
	timeout time.Duration
	good    atomic.Int64 // index of the server that answered last
	http    []*http.Transport
	leases  *tickets
}

// peer is one server.
type peer struct {
	address   string
	ids       snowfencev1connect.IDServiceClient
	names     snowfencev1connect.NamespaceServiceClient
	sequences snowfencev1connect.SequenceServiceClient
	leases    snowfencev1connect.LeaseServiceClient
}

// Dial returns a client of servers that share one store. While one does not
// answer, the client asks the others. An address is http://host:port,
// https://host:port, or unix:/path for a socket of this host. By http:, a
// proxy in between has to pass HTTP/2 on. It does no I/O: errors of a
// server show at the first request.
func Dial(addresses []string, o *Options) (*Client, error) {
	opts := *cmp.Or(o, &Options{})
	switch {
	case len(addresses) == 0:
		return nil, errors.New("remote: no server is named: give at least one address, as in http://127.0.0.1:8080")
	case opts.Token != "" && opts.TokenFile != "":
		return nil, errors.New("remote: Options.Token and Options.TokenFile are set: leave one out")
	case opts.Timeout < 0:
		return nil, fmt.Errorf("remote: Options.Timeout is %v; it must not be negative", opts.Timeout)
	}
	c := &Client{timeout: cmp.Or(opts.Timeout, 5*time.Second)}
	c.leases = &tickets{c: c}
	auth := connect.WithInterceptors(&header{token: opts.Token, file: opts.TokenFile})
	for _, address := range addresses {
		client, base := (*http.Client)(nil), strings.TrimSuffix(address, "/")
		path, socket := strings.CutPrefix(address, "unix:")
		u, err := url.Parse(address)
		switch {
		case socket && strings.HasPrefix(path, "/"):
			client, base = c.socketClient(path), "http://localhost"
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
			return nil, fmt.Errorf("remote: server %q: write it as http://host:port, https://host:port or unix:/path, "+
				"and give the token in Options.Token", hide(address))
		default:
			client = c.httpClient(opts.TLS, u.Scheme == "http")
		}
		c.servers = append(c.servers, &peer{
			address:   strings.TrimSuffix(address, "/"),
			ids:       snowfencev1connect.NewIDServiceClient(client, base, auth),
			names:     snowfencev1connect.NewNamespaceServiceClient(client, base, auth),
			sequences: snowfencev1connect.NewSequenceServiceClient(client, base, auth),
			leases:    snowfencev1connect.NewLeaseServiceClient(client, base, auth),
		})
	}
	return c, nil
}

// httpClient returns a client of HTTP with connections of its own. Many
// requests share one by HTTP/2; with TLS, a proxy may choose HTTP/1.1.
func (c *Client) httpClient(conf *tls.Config, plain bool) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = conf.Clone()
	t.MaxIdleConnsPerHost = 64
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetHTTP1(!plain)
	t.Protocols.SetUnencryptedHTTP2(plain)
	// Pings notice a server that vanished, and the next request makes a new
	// connection.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
	c.http = append(c.http, t)
	return &http.Client{
		Transport: t,
		// the token is for the servers that were named
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// socketClient is client for a socket of this host, where connections cost
// little: over HTTP/1.1 a request takes half the processor time.
func (c *Client) socketClient(path string) *http.Client {
	h := c.httpClient(nil, false)
	t := h.Transport.(*http.Transport)
	t.Proxy, t.HTTP2 = nil, nil
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return h
}

// hide leaves what may be a password out of an address.
func hide(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

// Close closes unused connections and does not wait. Close generators and
// sources first.
func (c *Client) Close() error {
	for _, t := range c.http {
		t.CloseIdleConnections()
	}
	return nil
}

// Scheme returns the scheme of a namespace, with its secrets if the server
// hands them out.
func (c *Client) Scheme(ctx context.Context, namespace string) (*snowfence.Scheme, error) {
	return c.schemeOf(ctx, namespace, nil)
}

// schemeOf returns the scheme of a namespace. Without keys it asks the
// server for the secrets.
func (c *Client) schemeOf(ctx context.Context, namespace string, keys []*snowfence.Secret) (*snowfence.Scheme, error) {
	ns, err := c.showNamespace(ctx, namespace, false)
	if err != nil {
		return nil, err
	}
	l, err := layoutOf(namespace, ns.Msg)
	if err != nil {
		return nil, err
	}
	if l.Cipher != snowfence.Plain && len(keys) == 0 {
		if ns, err = c.showNamespace(ctx, namespace, true); err != nil {
			return nil, err
		}
		for _, secret := range ns.Msg.Secrets {
			k, err := snowfence.ParseSecret(secret)
			clear(secret)
			if err != nil {
				return nil, fmt.Errorf("remote: namespace %q: %w", namespace, err)
			}
			keys = append(keys, k)
		}
	}
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		return nil, fmt.Errorf("remote: namespace %q: %w", namespace, err)
	}
	return s, nil
}

// Namespace has the facts for a program that hands out its leased nodes
// itself, by sublet.New.
type Namespace struct {
	Layout snowfence.Layout
	Unit   int64         // how many nodes a lease has at least
	MaxTTL time.Duration // the longest ttl of a lease
}

// Namespace returns the server's facts of a namespace. The token needs the
// verb read.
func (c *Client) Namespace(ctx context.Context, name string) (Namespace, error) {
	ns, err := c.showNamespace(ctx, name, false)
	if err != nil {
		return Namespace{}, err
	}
	l, err := layoutOf(name, ns.Msg)
	ttl := ns.Msg.MaxTtl.AsDuration()
	return Namespace{l, max(ns.Msg.Unit, 1), ttl}, err
}

func layoutOf(namespace string, m *pb.Namespace) (snowfence.Layout, error) {
	l, err := snowfence.ParseLayout(m.Layout)
	if err != nil {
		err = fmt.Errorf("remote: namespace %q has a layout that this program does not know: %w", namespace, err)
	}
	return l, err
}

func (c *Client) showNamespace(
	ctx context.Context, namespace string, secrets bool,
) (*connect.Response[pb.Namespace], error) {
	return ask(ctx, c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Namespace], error) {
		return p.names.Show(ctx, connect.NewRequest(&pb.ShowNamespaceRequest{Name: namespace, Secrets: secrets}))
	})
}

// header adds the token to requests.
type header struct {
	token string
	file  string                 // of the token; "" for none
	last  atomic.Pointer[string] // what was in the file
}

func (h *header) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		token, err := h.currentToken()
		if err != nil {
			return nil, err
		}
		if token != "" {
			req.Header().Set("Authorization", "Bearer "+token)
		}
		return next(ctx, req)
	}
}

func (h *header) currentToken() (string, error) {
	if h.file == "" {
		return h.token, nil
	}
	text, err := os.ReadFile(h.file)
	token, last := strings.TrimSpace(string(text)), h.last.Load()
	switch {
	case token != "":
		h.last.Store(&token)
		return token, nil
	case last != nil:
		return *last, nil
	case err == nil:
		err = fmt.Errorf("%s is empty", h.file)
	}
	return "", fmt.Errorf("remote: Options.TokenFile: %w", err)
}

func (h *header) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (h *header) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
