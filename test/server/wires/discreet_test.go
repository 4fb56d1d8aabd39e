package wires

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// A store that fails while a server makes IDs: no answer of any wire says where the store is, as
// which user the server reaches it, or which database or file has the data. The log does.
func TestFailedStoreIsNotDescribed(t *testing.T) {
	for kind, start := range map[string]func(t *testing.T) (store string, stop func()){
		"SQLite": func(t *testing.T) (string, func()) {
			path := filepath.Join(t.TempDir(), "ids-data", "ids-base.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			return "sqlite:" + path, func() {
				if err := errors.Join(os.Rename(path, path+".old"), os.Mkdir(path, 0o700)); err != nil {
					t.Error(err)
				}
			}
		},
		"PostgreSQL": func(t *testing.T) (string, func()) {
			p := servers.StartPostgres(t)
			p.SQL(t, "postgres", "CREATE ROLE ids_user LOGIN SUPERUSER PASSWORD 'ids-password'")
			p.SQL(t, "postgres", "CREATE DATABASE ids_base")
			u := fmt.Sprintf("postgres://ids_user:ids-password@%s/ids_base", servers.Address(p.Port))
			return u, func() { p.Stop(t, syscall.SIGINT) }
		},
		"MariaDB": func(t *testing.T) (string, func()) {
			m := servers.StartMariaDB(t)
			m.SQL(t, "", "CREATE USER ids_user IDENTIFIED BY 'ids-password'; CREATE DATABASE ids_base; "+
				"GRANT ALL ON ids_base.* TO ids_user")
			u := fmt.Sprintf("mysql://ids_user:ids-password@%s/ids_base", servers.Address(m.Port))
			return u, func() { m.Stop(t, syscall.SIGTERM) }
		},
		"Redis": func(t *testing.T) (string, func()) {
			r := servers.StartRedis(t)
			return r.URL() + "?prefix=ids-prefix", func() { r.End(t) }
		},
		"etcd": func(t *testing.T) (string, func()) {
			e := servers.StartEtcd(t)
			return "etcd://" + servers.Address(e.Port) + "?prefix=ids-prefix", func() { e.Stop(t, syscall.SIGTERM) }
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel() // it mostly waits
			store, stop := start(t)
			u, err := url.Parse(store)
			if err != nil {
				t.Fatal(err)
			}
			s := serveWith(t, store, "http", http.DefaultClient, "--ttl", "2s", "--max-wait", "200ms")
			for _, path := range []string{"/v1/default", "/v1/orders/sequence"} {
				if code, body := s.do(t, "PUT", path, "{}"); code > 201 {
					t.Fatal(code, body)
				}
			}
			wire := goRedis(t, s.resp, goredis.Options{Password: secret, MaxRetries: -1, ReadTimeout: time.Minute})
			if err := wire.Do(t.Context(), "SNOWFENCE.NEXT", "default").Err(); err != nil {
				t.Fatal(err)
			}
			stop()

			var mu sync.Mutex
			refused := map[string]int{}
			hear := func(ask, answer string, failed bool) {
				mu.Lock()
				defer mu.Unlock()
				if failed {
					refused[ask]++
				}
				describes(t, u, ask, answer)
			}
			fail := []string{
				"[SNOWFENCE.NEXT default]", "[INCR orders]", `POST /snowfence.v1.IDService/Next {"namespace":"default"}`,
				"GET /v1/default/next", "GET /v1/default/leases", "GET /readyz",
			}
			goesOn := func(ask string) bool { return refused[ask] == 0 }
			for end := time.Now().Add(time.Minute); slices.ContainsFunc(fail, goesOn); {
				if time.Now().After(end) {
					t.Fatal("these requests failed, and the others go on without the store:", refused)
				}
				var asks sync.WaitGroup
				for _, ask := range []string{
					"GET /v1/default/next", "GET /v1/other/next", "GET /v1", "GET /v1?list=servers", "GET /v1/default/leases",
					"PUT /v1/other {}", `PATCH /v1/default {"max_ttl":"20s"}`, "DELETE /v1/default?confirm=default",
					"GET /v1/orders/sequence", "POST /v1/default/leases {\"label\":\"x\"}",
					`POST /snowfence.v1.IDService/Next {"namespace":"default"}`,
					`POST /snowfence.v1.LeaseService/Acquire {"namespace":"default","label":"x"}`,
					`POST /snowfence.v1.SequenceService/Next {"name":"orders"}`, `POST /snowfence.v1.NamespaceService/List {}`,
					"GET /dashboard/api/leases?namespace=default", "GET /readyz",
				} {
					asks.Go(func() {
						words := append(strings.SplitN(ask, " ", 3), "")
						code, body := s.do(t, words[0], words[1], words[2])
						hear(ask, body, code >= 500)
					})
				}
				for _, ask := range [][]any{
					{"SNOWFENCE.NEXT", "default"}, {"SNOWFENCE.NEXT", "other"}, {"INCR", "orders"},
				} {
					asks.Go(func() {
						if err := wire.Do(t.Context(), ask...).Err(); err != nil {
							hear(fmt.Sprint(ask), err.Error(), true)
						}
					})
				}
				asks.Wait()
			}
		})
	}
}

// describes fails if an answer says something of the store.
func describes(t *testing.T, store *url.URL, ask, answer string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(store.Host)
	for _, word := range []string{":" + port, "ids_", "ids-", store.Path, store.Opaque, "/tmp/", "/dev/shm"} {
		if len(word) > 1 && strings.Contains(answer, word) {
			t.Errorf("%s says %q of the store: %s", ask, word, answer)
		}
	}
}
