package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"go.yaml.in/yaml/v3"
)

// tokens are the possible callers: a list that stays, and a file that is
// read again when it changes.
type tokens struct {
	path        string
	ownTokens   []server.Token
	clientCerts bool // clients show certificates
	reloader
	auth atomic.Pointer[server.Auth]
}

// newTokens reads the file of tokens. Without any token, everybody may
// call.
func newTokens(c *Config) (*tokens, error) {
	t := &tokens{path: c.Tokens, ownTokens: c.TokenList, clientCerts: c.TLSClientCA != ""}
	t.reloader = reloader{logger: c.Logger, text: "the file of tokens was changed and cannot be read: the old ones " +
		"stay in use"}
	if c.Agent {
		var only []string
		if c.Unit == nil { // over a store, which has others
			only = []string{c.AgentNamespace()}
		}
		t.auth.Store(server.NewHostAuth(c.Quota, only...))
		return t, nil
	}
	if t.path == "" && len(t.ownTokens) == 0 {
		t.auth.Store(server.OpenAt(c.Rate))
		return t, nil
	}
	t.seen.changed(t.path)
	a, err := t.readFile()
	t.auth.Store(a)
	return t, err
}

func (t *tokens) readFile() (*server.Auth, error) {
	list := slices.Clone(t.ownTokens)
	if t.path != "" {
		more, err := ReadTokens(t.path)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	for _, k := range list {
		if k.Certificate != "" && !t.clientCerts {
			return nil, fmt.Errorf("tokens: token %q is for a certificate, and no client shows one: give the server "+
				"tls-client-ca", k.Name)
		}
	}
	a, err := server.NewAuth(list)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return a, nil
}

// ReadTokens reads a file of tokens. Everything in it may be known: a hash
// is of no use to its readers, because the secrets are random.
func ReadTokens(path string) ([]server.Token, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", Explain(err))
	}
	return ParseTokens(path, string(data))
}

// ParseTokens reads the text of a file of tokens.
func ParseTokens(path, text string) ([]server.Token, error) {
	var file struct {
		Tokens []server.Token `yaml:"tokens"`
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("tokens: %s: %w", path, ExplainTokens(err))
	}
	if len(file.Tokens) == 0 {
		return nil, fmt.Errorf("tokens: %s has none: \"snowfence token new NAME --append %s\" adds one", path, path)
	}
	return file.Tokens, nil
}

// readFile reads a regular file. Another one, such as a pipe, could let its
// reader wait for ever.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// reloadFile reads the file again if it changed. An unreadable file leaves
// the old tokens in use.
func (t *tokens) reloadFile() {
	var a *server.Auth
	read := func() (err error) {
		a, err = t.readFile()
		return err
	}
	if t.path == "" || !t.readAgain(read, t.path) {
		return
	}
	t.useAuth(a)
	t.logger.Info("tokens read again", "file", t.path, "tokens", len(a.Tokens()))
	t.logWarnings(t.warnings)
}

// warnings says which tokens end soon.
func (t *tokens) warnings(now time.Time) (list []string) {
	for _, k := range t.currentAuth().Tokens() {
		if text := k.Warning(now); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// replaceWith takes over the tokens of other settings.
func (t *tokens) replaceWith(next *tokens) {
	t.path, t.ownTokens = next.path, next.ownTokens
	t.noteSuccess(next.seen)
	t.useAuth(next.currentAuth())
	t.logWarnings(t.warnings)
}

// useAuth lets a identify callers.
func (t *tokens) useAuth(a *server.Auth) {
	a.Replace(t.currentAuth())
	t.auth.Store(a)
}

// currentAuth returns the possible callers.
func (t *tokens) currentAuth() *server.Auth { return t.auth.Load() }

// identifyRequest returns the identity of an HTTP request, from its bearer
// token or its certificate.
func (t *tokens) identifyRequest(r *http.Request) (*server.Identity, error) {
	a := t.currentAuth()
	if id := a.Anyone(); id != nil {
		if user, ok := r.Context().Value(userKey{}).(*server.Identity); ok {
			id = user
		}
		return id, nil
	}
	text := r.Header.Get("Authorization")
	if text == "" && r.TLS != nil {
		if id := a.Unnamed(r.TLS.PeerCertificates); id != nil {
			return id, nil
		}
	}
	scheme, secret, ok := strings.Cut(text, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, server.Errorf(server.Anonymous, "a token is needed: send it as Authorization: Bearer TOKEN")
	}
	return a.Identify(strings.TrimSpace(secret))
}

// userOf returns who a program at a socket of an agent is; nil where the
// kernel does not tell it.
func (t *tokens) userOf(c net.Conn) *server.Identity {
	id, ok := userOf(c)
	if !ok {
		return nil
	}
	return t.currentAuth().User(id)
}

type (
	placeKey struct{}
	userKey  struct{} // of the user of a program at a socket of an agent
)
