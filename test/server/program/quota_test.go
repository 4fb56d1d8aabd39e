package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// A token takes nodes and gives them back without a word of their use. Of
// those that nobody else can use it never has more than its limit, in each
// store, in units and without. The limits are drawn.
func TestNodesGivenBackCountInEachStore(t *testing.T) {
	for _, kind := range []string{"SQLite", "Redis", "etcd", "PostgreSQL", "MariaDB"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := kinds.Start(t, kind).URL
			file, limit := filepath.Join(t.TempDir(), "tokens.yaml"), 1+mathrand.IntN(4)
			text := "tokens:\n"
			for name, more := range map[string]string{
				"boss": "verbs: [manage]", "quiet": fmt.Sprint("verbs: [lease], nodes: ", limit),
			} {
				text += fmt.Sprintf("- {name: %s, sha256: %x, %s}\n", name, sha256.Sum256([]byte(name)), more)
			}
			must(t, os.WriteFile(file, []byte(text), 0o600))
			at := servers.Address(servers.Ports(t, 1)[0])
			p := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
				"serve", "--store", url, "--http", at, "--resp", "", "--tokens", file,
			}, nil)
			p.Ready(t, func() error { return answers("http://"+at+"/readyz", http.StatusOK, "") })
			for name, unit := range map[string]int{"single": 1, "united": 8} {
				t.Run(fmt.Sprintf("%d nodes, %s", limit, name), func(t *testing.T) {
					t.Parallel()
					q := quota{t, "http://" + at + "/snowfence.v1."}
					q.call("boss", "NamespaceService/Create", map[string]any{"name": name, "unit": unit}, nil)
					q.take(name, limit)
				})
			}
		})
	}
}

type quota struct {
	*testing.T
	base string
}

// take takes nodes for five seconds each, one after the other, until it has
// had twice its limit.
func (q quota) take(namespace string, limit int) {
	q.Helper()
	var ends []time.Time // of the nodes that it got
	refusals := 0
	for begin := time.Now(); len(ends) < 2*limit; {
		now := time.Now()
		var l struct {
			Until  int64  `json:"until,string"`
			Ticket []byte `json:"ticket"`
		}
		if !q.call("quiet", "LeaseService/Acquire", map[string]any{
			"namespace": namespace, "label": "x", "attempt": rand.Text(), "ttl": "5s",
		}, &l) {
			if refusals++; time.Since(begin) > 4*time.Minute {
				q.Fatalf("got %d nodes in %v", len(ends), time.Since(begin))
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		spent := 0
		for _, end := range ends {
			if end.After(time.Now()) && end.After(now) {
				spent++
			}
		}
		if spent >= limit {
			q.Errorf("node %d beside %d that nobody else can use, limit %d", len(ends)+1, spent, limit)
		}
		epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		ends = append(ends, epoch.Add(time.Duration(l.Until)*time.Millisecond))
		q.call("quiet", "LeaseService/Release", map[string]any{"ticket": l.Ticket}, nil)
	}
	if refusals == 0 {
		q.Error("no request was refused")
	}
}

// call asks the server, and reports whether the answer is good. A limit is
// none; other refusals fail the test.
func (q quota) call(token, method string, body map[string]any, answer any) bool {
	q.Helper()
	b, err := json.Marshal(body)
	must(q, err)
	status, text, err := servers.Ask(q.Context(), http.DefaultClient, http.MethodPost, q.base+method, string(b),
		"Content-Type: application/json", "Authorization: Bearer "+token)
	if status == http.StatusTooManyRequests {
		return false
	}
	if err != nil {
		q.Fatal(method, err)
	}
	if answer != nil {
		err = json.Unmarshal([]byte(text), answer)
	}
	must(q, err)
	return true
}
