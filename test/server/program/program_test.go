// Package program runs the program as it is built, against real servers of
// every kind.
package program

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

// password is the password of the user app of all servers. The scripts
// check that it is never shown.
const password = "Zq9/Xk7&w"

// escaped is the password as it stands in a URL.
const escaped = "Zq9%2FXk7%26w"

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// play runs the scripts on a store.
func play(t *testing.T, url string) {
	t.Helper()
	path := servers.Program(t, servers.Snowfence)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", Cmds: map[string]func(*testscript.TestScript, bool, []string){"asked": asked},
		Setup: func(env *testscript.Env) error {
			env.Setenv("SNOWFENCE_STORE", url)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("PATH", filepath.Dir(path)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			scheme, _, _ := strings.Cut(url, ":")
			env.Setenv("SCHEME", regexp.QuoteMeta(scheme))
			return nil
		},
	})
}

// asked types what the last message tells people to type, with the password
// where the message says that it is missing.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: asked")
	}
	message := ts.ReadFile("stderr")
	count := 0
	for line := range strings.Lines(message) {
		command, ok := strings.CutPrefix(line, "  ")
		if !ok {
			continue
		}
		if strings.Contains(command, "xxxxx") != strings.Contains(message, "in place of xxxxx") {
			ts.Fatalf("what stands for the password, and what is said of it:\n%s", message)
		}
		count++
		ts.Check(ts.Exec("sh", "-c", strings.ReplaceAll(command, "xxxxx", escaped)))
	}
	if count == 0 {
		ts.Fatalf("nothing to type:\n%s", message)
	}
}

// withPassword puts the user app into a URL.
func withPassword(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return scheme + "://app:" + escaped + "@" + rest
}

func TestPostgreSQL(t *testing.T) {
	p := servers.StartPostgres(t)
	database := p.NewDatabase(t)
	p.SQL(t, database, "CREATE USER app PASSWORD '"+password+"'; GRANT ALL ON SCHEMA public TO app")
	t.Cleanup(func() { // after the scripts
		p.SQL(t, database, "CREATE USER reader PASSWORD '"+password+"'; "+
			"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
		readerLists(t, withPassword(p.URL(database)))
	})
	play(t, withPassword(p.URL(database)))
}

func TestMySQL(t *testing.T) {
	m := servers.StartMariaDB(t)
	database := m.NewDatabase(t)
	m.SQL(t, database, "CREATE USER app IDENTIFIED BY '"+password+"'; GRANT ALL ON "+database+".* TO app")
	t.Cleanup(func() { // after the scripts
		m.SQL(t, database, "CREATE USER reader IDENTIFIED BY '"+password+"'; GRANT SELECT ON "+database+".* TO reader")
		readerLists(t, withPassword(m.URL(database)))
	})
	play(t, withPassword(m.URL(database)))
}

func TestRedis(t *testing.T) {
	r := servers.StartRedis(t)
	r.Do(t, "ACL", "SETUSER", "app", "on", ">"+password, "~*", "&*", "+@all")
	t.Cleanup(func() { // after the scripts
		r.Do(t, "ACL", "SETUSER", "reader", "on", ">"+password, "~*", "-@all", "+@read", "+@connection", "+info",
			"+eval_ro", "+evalsha_ro")
		readerLists(t, withPassword(r.URL()))
	})
	play(t, withPassword(r.URL()))
}

func TestRedisTLS(t *testing.T) {
	servers.Later(t)
	r := servers.StartRedisTLS(t)
	play(t, r.URL()+"?tls_ca="+r.Certs().CA)
}

func TestRedisSentinel(t *testing.T) {
	servers.Later(t)
	play(t, servers.StartSentinel(t, 1).URL()+"?replicas=1")
}

func TestRedisCluster(t *testing.T) {
	play(t, servers.StartRedisCluster(t).URL()+"?replicas=1")
}

func TestEtcd(t *testing.T) {
	var hosts []string
	for _, m := range servers.StartEtcdCluster(t, 3) {
		hosts = append(hosts, servers.Address(m.Port))
	}
	play(t, "etcd://"+strings.Join(hosts, ","))
}

func TestEtcdTLS(t *testing.T) {
	servers.Later(t)
	c := servers.NewCerts(t)
	_, host, _ := strings.Cut(servers.StartEtcdTLS(t, c), "://")
	play(t, "etcd://"+host+"?tls_ca="+c.CA)
}
