package wires

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// Programs take numbers over HTTP and with the Go client, and the server that the client asks first
// is killed. Nobody fails, and no number comes twice.
func TestSequenceOfTwoServers(t *testing.T) {
	for _, mode := range []string{"fast", "strict"} {
		t.Run(mode, func(t *testing.T) {
			store := "sqlite:" + filepath.Join(t.TempDir(), "numbers.db")
			dying, staying := serve(t, store), serve(t, store)
			if code, body := staying.do(t, "PUT", "/v1/orders/sequence", fmt.Sprintf(`{"mode":%q}`, mode)); code != 201 {
				t.Fatal(code, body)
			}
			nobody := servers.Address(servers.Ports(t, 1)[0])
			c, err := remote.Dial([]string{"http://" + nobody, "http://" + dying.http, "http://" + staying.http},
				&remote.Options{Token: secret, Timeout: time.Minute}) // a busy machine answers late
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			s, err := c.Sequence(t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var (
				mu   sync.Mutex
				seen = map[string]string{}
				made [2]atomic.Int64
				all  sync.WaitGroup
			)
			use := func(i int, who, number string) {
				mu.Lock()
				defer mu.Unlock()
				if other, twice := seen[number]; twice {
					t.Errorf("%s came from %s and from %s", number, other, who)
				}
				seen[number] = who
				made[i].Add(1)
			}
			all.Go(func() {
				for ctx.Err() == nil {
					n, err := s.Next(ctx)
					switch {
					case err == nil:
						use(0, "the client", fmt.Sprint(n))
					case ctx.Err() == nil:
						t.Errorf("the client: %v", err)
						return
					}
				}
			})
			all.Go(func() {
				for ctx.Err() == nil {
					code, body := staying.do(t, "GET", "/v1/orders/sequence/next?n=3", "")
					_, list, _ := strings.Cut(body, `"numbers":`)
					numbers := regexp.MustCompile(`\d+`).FindAllString(list, -1)
					if code != 200 || len(numbers) != 3 {
						t.Errorf("HTTP: %d %s", code, body)
						return
					}
					for _, n := range numbers {
						use(1, "HTTP", n)
					}
				}
			})
			more := func(what string) {
				client, plain := made[0].Load(), made[1].Load()
				fleet.Eventually(t, what, func() error {
					if !t.Failed() && (made[0].Load() < client+200 || made[1].Load() < plain+60) {
						return errors.New("no")
					}
					return nil
				})
			}
			more("numbers come")
			dying.Kill()
			more("numbers come from the server that is left")
			cancel()
			all.Wait()
		})
	}
}

// curl sends a request as curl would.
func (s *served) curl(t *testing.T, command string) string {
	t.Helper()
	method, body, header := "GET", "", http.Header{"Authorization": {"Bearer " + secret}}
	var address string
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1)
	for i := 0; i < len(words); i++ {
		arg := strings.Trim(words[i], "'")
		if !strings.HasPrefix(arg, "-") {
			address = arg
			continue
		}
		i++
		switch value := strings.Trim(words[i], "'"); arg {
		case "-X":
			method = value
		case "-d":
			if body = value; method == "GET" {
				method = "POST"
			}
		case "-H":
			name, text, _ := strings.Cut(value, ": ")
			header.Set(name, text)
		default:
			t.Fatalf("%s: the test does not know %s", command, arg)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The requests for sequences in the pages answer what the pages say.
func TestSequencesOfThePages(t *testing.T) {
	n := 0
	for _, path := range []string{"reference/protocols.md", "choose/sequences.md"} {
		page, err := os.ReadFile("../../../docs/" + path)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "page.db"))
		lines := strings.Split(string(page), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(strings.Replace(line, "    $ curl", "    curl", 1), "    curl ")
			if !ok || !strings.Contains(command, "equence") {
				continue
			}
			n++
			got := s.curl(t, strings.ReplaceAll(command, "127.0.0.1:8080", s.http))
			want := strings.TrimSpace(lines[i+1])
			if !strings.HasPrefix(line, "    $") { // a page without answers
				if want = "{"; !strings.Contains(got, `"numbers":`) && !strings.Contains(got, `"state":"active"`) {
					t.Errorf("%s: %s", command, got)
				}
			}
			rest := strings.ReplaceAll(got, `, "`, `,"`)
			for part := range strings.SplitSeq(strings.ReplaceAll(want, `, "`, `,"`), "…") {
				_, after, ok := strings.Cut(rest, strings.Trim(part, ","))
				if !ok {
					t.Errorf("%s\n%s, and the page says\n%s", command, got, want)
				}
				rest = after
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d requests", n)
	}
}
