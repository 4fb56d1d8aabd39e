package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// While a store is unreachable, callers learn from no wire who and where it
// is; each line of the log is JSON, also of libraries, and the last one
// says that the server stopped.
func TestNoWireTellsWhereTheStoreIs(t *testing.T) {
	for kind, start := range stores() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st, url := start(t)
			if kind == "postgres" || kind == "mariadb" {
				url += map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + "connect_timeout=1s"
			}
			ports := servers.Ports(t, 3)
			var at [3]string
			for i, port := range ports {
				at[i] = servers.Address(port)
			}
			p := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
				"serve", "--store", url, "--http", at[0], "--resp", at[1], "--admin", at[2], "--log-json", "--ttl", "1s",
			}, nil)
			p.Ready(t, func() error { return answers("http://"+at[2]+"/readyz", http.StatusOK, "ok") })
			st.Stop(t, syscall.SIGKILL)
			p.Ready(t, func() error {
				return answers("http://"+at[2]+"/readyz", http.StatusServiceUnavailable, "")
			})
			said := map[string]string{}
			var callers sync.WaitGroup
			var mu sync.Mutex
			for _, q := range []string{
				"GET /v1", "GET /v1?list=sequences", "GET /v1/default", "GET /v1/other/next",
				"PUT /v1/other {}", "PATCH /v1/default {\"last_node\":3}", "DELETE /v1/default?confirm=default",
				"GET /v1/default/leases", "PUT /v1/default/leases/5/veto {\"reason\":\"x\"}", "PUT /v1/bills/sequence {}",
				"GET /v1/bills/sequence/next", "GET /readyz", "GET /dashboard/api/leases?namespace=default",
				"POST /snowfence.v1.IDService/Next {\"namespace\":\"other\"}",
				"POST /snowfence.v1.LeaseService/Acquire {\"label\":\"x\"}",
				"POST /snowfence.v1.NamespaceService/Create {\"name\":\"other\"}",
				"SNOWFENCE.NEXT other", "SNOWFENCE.DECODE other 5", "INCR bills", "GET bills",
			} {
				callers.Go(func() {
					text := ""
					if strings.Contains(q, "/") {
						text = ask(t, "http://"+at[0], q)
					} else {
						text = redisReply(t, at[1], q)
					}
					mu.Lock()
					defer mu.Unlock()
					said[q] = text
				})
			}
			callers.Wait()
			database := regexp.MustCompile(`/(\w+)[?]?[^/]*$`).FindStringSubmatch(url)
			words := []string{"127.0.0.1", "dial", "refused", kind, "postgres", "mysql"}
			if database != nil {
				words = append(words, database[1])
			}
			for q, text := range said {
				for _, w := range words {
					if strings.Contains(text, w) && !strings.Contains(q, w) {
						t.Errorf("%s tells %q: %s", q, w, text)
					}
				}
			}
			p.Stop(t, syscall.SIGTERM)
			log, err := os.ReadFile(p.Log)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(log)), "\n")
			for _, line := range lines {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, `"stopped"`) && !strings.Contains(last, `"ERROR"`) {
				t.Errorf("the last line: %s", last)
			}
		})
	}
}

// ask makes a request that is written as in "PUT /v1/orders {}", which has
// to fail, and returns the answer.
func ask(t *testing.T, base, text string) string {
	words := append(strings.SplitN(text, " ", 3), "")
	req, err := http.NewRequestWithContext(t.Context(), words[0], base+words[1], strings.NewReader(words[2]))
	if err != nil {
		t.Error(err)
		return ""
	}
	if words[2] != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode < 500 {
		t.Errorf("%s: %d %s, %v", text, res.StatusCode, body, err)
	}
	return fmt.Sprint(res.Header, string(body))
}

// redisReply sends a command, which has to fail, and returns the reply.
func redisReply(t *testing.T, address, command string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	_, err = io.WriteString(c, command+"\r\nQUIT\r\n")
	text, readErr := io.ReadAll(c)
	if err = errors.Join(err, readErr); err != nil || !strings.HasPrefix(string(text), "-TRYAGAIN") {
		t.Errorf("%s: %s, %v", command, text, err)
	}
	return string(text)
}
