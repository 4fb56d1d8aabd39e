package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"go.yaml.in/yaml/v3"
)

// tokens is a file of tokens that is read again when it changes.
type tokens struct {
	path   string
	logger *slog.Logger

	mu     sync.Mutex
	auth   *server.Auth
	seen   time.Time
	looked time.Time
}

// newTokens reads the file; "" is everybody.
func newTokens(path string, logger *slog.Logger) (*tokens, error) {
	t := &tokens{path: path, logger: logger}
	if path == "" {
		t.auth = server.Open()
		return t, nil
	}
	var err error
	t.auth, err = readTokens(path)
	return t, err
}

// readTokens reads a list of tokens in YAML. Everything in the file but the hashes may be known, and the hashes are of no use to those who read them.
func readTokens(path string) (*server.Auth, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var file struct {
		Tokens []server.Token `yaml:"tokens"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", path, err)
	}
	if len(file.Tokens) == 0 {
		return nil, fmt.Errorf("tokens: %s has none: \"snowfence token new NAME\" prints an entry", path)
	}
	a, err := server.NewAuth(file.Tokens)
	if err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", path, err)
	}
	return a, nil
}

// current returns who callers may be. A file that cannot be read leaves the old tokens in use.
func (t *tokens) current() *server.Auth {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.path == "" || now.Sub(t.looked) < lookEvery {
		return t.auth
	}
	t.looked = now
	info, err := os.Stat(t.path)
	if err == nil && info.ModTime().Equal(t.seen) {
		return t.auth
	}
	var a *server.Auth
	if err == nil {
		a, err = readTokens(t.path)
	}
	if err != nil {
		t.logger.Warn("the file of tokens cannot be read: the old ones stay in use", "cause", err)
		return t.auth
	}
	if !t.seen.IsZero() {
		t.logger.Info("tokens read again", "file", t.path)
	}
	t.auth, t.seen = a, info.ModTime()
	return t.auth
}

// who returns the identity of an HTTP request, from its bearer token.
func (t *tokens) who(r *http.Request) (*server.Identity, error) {
	a := t.current()
	if id := a.Anyone(); id != nil {
		return id, nil
	}
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, server.NewError(server.Anonymous, errors.New("a token is needed: send it as Authorization: Bearer TOKEN"))
	}
	return a.Who(strings.TrimSpace(secret))
}

type requestKey struct{}

// identified makes a request known to the handlers that see its ctx only.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
	})
}

// whoIn is who for those handlers.
func (t *tokens) whoIn(ctx context.Context) (*server.Identity, error) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return nil, server.NewError(server.Anonymous, errors.New("a token is needed"))
	}
	return t.who(r)
}
