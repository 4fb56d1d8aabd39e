package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestChangedPassword changes a password in the store and in its file, and
// ends all connections: the server goes on.
func TestChangedPassword(t *testing.T) {
	for kind, start := range map[string]func(*testing.T) (url string, set func(password string)){
		"PostgreSQL": func(t *testing.T) (string, func(string)) {
			p := servers.StartPostgres(t)
			p.SQL(t, "postgres", "CREATE USER app; GRANT CREATE ON SCHEMA public TO app")
			rules := "host all postgres 127.0.0.1/32 trust\nhost all app 127.0.0.1/32 scram-sha-256\n"
			must(t, os.WriteFile(filepath.Join(p.Dir, "pg_hba.conf"), []byte(rules), 0o600))
			return p.URL("postgres"), func(password string) {
				p.SQL(t, "postgres", "SELECT pg_reload_conf(); ALTER USER app PASSWORD '"+password+"'; "+
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
			}
		},
		"MariaDB": func(t *testing.T) (string, func(string)) {
			m := servers.StartMariaDB(t)
			database := m.NewDatabase(t)
			m.SQL(t, database, "CREATE USER app; GRANT ALL ON "+database+".* TO app")
			return m.URL(database), func(password string) {
				m.SQL(t, database, "ALTER USER app IDENTIFIED BY '"+password+"'; KILL USER app")
			}
		},
		"Redis": func(t *testing.T) (string, func(string)) {
			r := servers.StartRedis(t)
			return r.URL(), func(password string) {
				r.Do(t, "ACL", "SETUSER", "app", "on", "resetpass", ">"+password, "~*", "&*", "+@all")
				r.Do(t, "CLIENT", "KILL", "USER", "app")
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, set := start(t)
			file := filepath.Join(t.TempDir(), "password")
			change := func(password string) {
				t.Helper()
				must(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
				set(password)
			}
			change("the first one")
			scheme, rest, _ := strings.Cut(url, "://")
			rest = rest[strings.LastIndexByte(rest, '@')+1:]
			url = scheme + "://app@" + rest + map[bool]string{true: "&", false: "?"}[strings.Contains(rest, "?")] +
				"password_file=" + file
			p, at := servers.Serve(t, url, "--ttl", "1s")
			makes := func(namespace string) func() error {
				return func() error {
					_, _, err := servers.Ask(t.Context(), http.DefaultClient, http.MethodPut,
						"http://"+at+"/v1/"+namespace, "{}", "Content-Type: application/json")
					return err
				}
			}
			p.Ready(t, makes("before"))
			change("another one")
			p.Ready(t, makes("after"))
			p.Stop(t, syscall.SIGTERM)
		})
	}
}
