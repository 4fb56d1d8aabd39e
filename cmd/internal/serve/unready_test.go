package serve

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// laterStore returns a store whose namespace default begins its next grants
// in half an hour.
func laterStore(t *testing.T) *cutStore {
	t.Helper()
	st := &cutStore{Store: store.NewMemory()}
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	few := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 16}, MaxTTL: time.Hour}
	must(scope.Namespaces(st).Create(t.Context(), "default", s, few))
	all, unused := snowfence.NodeRange{Until: s.Nodes()}, time.Now().Add(30*time.Minute)
	must(scope.Namespaces(st).Change(t.Context(), "default",
		nil, &scope.NamespaceOptions{Nodes: all, Unused: unused}))
	return st
}

// After a change a grant began in the future: no ID could be made, and
// readiness, metrics and Retry-After said that all is well.
func TestGrantInTheFutureIsNotReady(t *testing.T) {
	p, logs := start(t, Config{
		Listeners: Listeners{Admin: "127.0.0.1:0"}, Options: server.Options{MaxWait: time.Millisecond},
	}, laterStore(t))
	eventually(t, "a verdict", func() bool { return p.Ready() != errStarting })
	code, cause := get(t, "http://"+p.Admin+"/readyz", "")
	if code != http.StatusServiceUnavailable || !strings.Contains(cause, "makes no IDs for") {
		t.Errorf("%d %s", code, cause)
	}
	_, text := get(t, "http://"+p.Admin+"/metrics", "")
	for _, line := range []string{
		"snowfence_ready 0\n", `snowfence_lease_held{namespace="default"} 0`, `snowfence_lease_left_seconds{namespace="default"} 0`,
		`snowfence_lease_begins_seconds{namespace="default"} 1`, // 1700 and more
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics do not say %s", line)
		}
	}
	res := must(http.Get("http://" + p.HTTP + "/v1/default/next"))
	res.Body.Close()
	after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	if res.StatusCode != http.StatusServiceUnavailable || after < 1000 || after > 1800 {
		t.Errorf("%d, ask again in %d s", res.StatusCode, after)
	}
	looks(t, p, 3) // lines that come at each look would be here by now
	if n := strings.Count(logs.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, not 1:\n%s", n, logs)
	}
}

// A namespace that was not named waits for its grant: the server is ready,
// and says so once.
func TestGrantInTheFutureOfAnotherNamespace(t *testing.T) {
	st := laterStore(t)
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "orders", s, nil))
	p, logs := start(t, Config{ReadyFor: []string{"orders"}, Options: server.Options{MaxWait: time.Millisecond}}, st)
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	if code, body := get(t, "http://"+p.HTTP+"/v1/default/next", ""); code != http.StatusServiceUnavailable {
		t.Fatalf("%d %s", code, body)
	}
	warning := `msg="a grant begins later" namespace=default`
	eventually(t, "a warning", func() bool { return strings.Contains(logs.String(), warning) })
	looks(t, p, 3)
	if n := strings.Count(logs.String(), warning); n != 1 {
		t.Errorf("%d warnings, not 1:\n%s", n, logs)
	}
}

// looks waits until the server has looked at itself n more times.
func looks(t *testing.T, p *Process, n int) {
	t.Helper()
	for range n {
		last := p.lastCheck.Load()
		eventually(t, "another look", func() bool { return p.lastCheck.Load() != last })
	}
}

// After a move the old store's servers showed no figure of a lease, so no
// alert told of it.
func TestMovedNamespaceHasNoLease(t *testing.T) {
	st, next := newStore(t), store.NewMemory()
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0"}, Options: server.Options{TTL: time.Second}}, st)
	held := func(n string) func() bool {
		return func() bool {
			_, text := get(t, "http://"+p.Admin+"/metrics", "")
			return strings.Contains(text, `snowfence_lease_held{namespace="default"} `+n+"\n")
		}
	}
	eventually(t, "a lease", held("1"))
	here, there := store.Place{Store: st, Name: "here"}, store.Place{Store: next, Name: "there"}
	noError(t, scope.Move(t.Context(), "default", here, there))
	eventually(t, "no lease", held("0"))
	noError(t, scope.Move(t.Context(), "default", there, here))
	eventually(t, "a lease, after the move was undone", held("1"))
}
