package program

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// The process ended when its store did not answer, and a pod that ends
// again and again waits up to five minutes. Now it listens, says why it is
// not ready, and goes on when the store comes. Each line of the log is
// JSON, also of libraries.
func TestStoreComesLater(t *testing.T) {
	for _, kind := range []string{"Redis", "etcd", "PostgreSQL", "MariaDB"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st := kinds.Start(t, kind)
			st.Stop(t, syscall.SIGTERM)
			ports := servers.Ports(t, 2)
			web, admin := "http://"+servers.Address(ports[0]), "http://"+servers.Address(ports[1])
			p := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
				"serve", "--store", st.URL, "--http", web[7:], "--admin", admin[7:], "--resp", "", "--log-json",
			}, nil)
			p.Ready(t, func() error {
				return answers(admin+"/readyz", http.StatusServiceUnavailable, "start the store")
			})
			for url, want := range map[string]int{
				admin + "/healthz": http.StatusOK, admin + "/metrics": http.StatusOK,
				web + "/v1/default/next": http.StatusServiceUnavailable, web + "/readyz": http.StatusServiceUnavailable,
			} {
				must(t, answers(url, want, ""))
			}
			st.Restart(t)
			p.Ready(t, func() error { return answers(admin+"/readyz", http.StatusOK, "ok") })
			must(t, answers(web+"/v1/default/next", http.StatusOK, ""))
			p.Stop(t, syscall.SIGTERM)
			log, err := os.ReadFile(p.Log)
			if text := string(log); err != nil || strings.Count(text, "IDs are unique within one namespace of") != 1 ||
				strings.Count(text, `"msg":"not ready"`) != 1 || !strings.HasSuffix(text, "\"stopped\"}\n") {
				t.Errorf("%v\n%s", err, text)
			}
			for line := range strings.Lines(string(log)) {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
		})
	}
}

// answers returns an error unless a URL has the status, and the text in its
// answer.
func answers(url string, status int, text string) error {
	got, body, err := servers.Ask(context.Background(), http.DefaultClient, http.MethodGet, url, "")
	if got != status || !strings.Contains(body, text) {
		return fmt.Errorf("%s: %d, %.300s, %w", url, got, body, err)
	}
	return nil
}
