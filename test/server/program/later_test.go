package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
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

// The alert rules are rules, and fire when they should, by Prometheus's own
// tool.
func TestAlertRules(t *testing.T) {
	promtool := servers.Need(t, "prometheus", "promtool")[0]
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../../deploy/prometheus"
		tests.Run(t, cmd)
	}
}

// readerLists lists and shows with the user reader, who may only read:
// lease list failed for it.
func readerLists(t *testing.T, owner string) {
	t.Helper()
	for _, args := range []string{"new --node 7", "sequence create read"} {
		if code, out := runAs(t, owner, strings.Fields(args)...); code != 0 {
			t.Fatalf("%s: %s", args, out)
		}
	}
	reader := strings.Replace(owner, "app:", "reader:", 1)
	lists := map[string]string{
		"lease list --all":   "\n7 ",
		"namespace list":     "\ndefault ",
		"namespace show":     "snowfence",
		"sequence list":      "\nread ",
		"sequence show read": "next",
		"decode 1234567890123456789 --namespace default": "node",
		"plan --sequence read --rate 1/day":              "numbers",
	}
	if !strings.HasPrefix(owner, "redis") { // there the first server has to come before
		lists["servers"] = ""
	}
	for args, want := range lists {
		code, out := runAs(t, reader, strings.Fields(args)...)
		if code != 0 || !strings.Contains("\n"+out, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, out)
		}
	}
	if code, out := runAs(t, reader, "new"); code != 1 {
		t.Errorf("a reader made an ID: exit code %d\n%s", code, out)
	}
}

// TestLinkerDropsWhatNobodyCalls fails when the linker keeps every exported
// method, which makes the program 14 MB larger. It does so as soon as the
// program can reach a call of a method by a name that only a run knows, as
// templates do.
func TestLinkerDropsWhatNobodyCalls(t *testing.T) {
	program, err := os.ReadFile(servers.Program(t, servers.Snowfence))
	must(t, err)
	// Names of functions are in a program without symbols too.
	if !bytes.Contains(program, []byte("github.com/redis/rueidis.NewClient")) {
		t.Fatal("the program has no names of functions: this test looks for them in vain")
	}
	for _, name := range []string{
		"rueidis/internal/cmds.Builder.ClusterAddslots", // a command that we never send
		"text/template.(*state).evalField",
	} {
		if bytes.Contains(program, []byte(name)) {
			t.Errorf("the program contains %s: \"go build -ldflags=-dumpdep\" shows who calls it", name)
		}
	}
}
