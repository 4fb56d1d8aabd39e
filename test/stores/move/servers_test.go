package move

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/rueidis"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/kubestore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// empty returns functions that make an empty store each, by the name of its
// kind.
func empty(t *testing.T) map[string]func() store.Store {
	p, r, e, n := servers.StartPostgres(t), servers.StartRedis(t), servers.StartEtcd(t), 0
	etcd := servers.EtcdClient(t, e)
	redis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{r.Address()}, ForceSingleClient: true})
	must(t, err)
	t.Cleanup(redis.Close)
	database := func(driver, dsn string, d sqlstore.Dialect) store.Store {
		db, err := sql.Open(driver, dsn)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		st, err := sqlstore.New(db, d)
		must(t, err)
		return st
	}
	return map[string]func() store.Store{
		"sqlite": func() store.Store {
			path := filepath.Join(t.TempDir(), "ids.db")
			return database("sqlite", "file:"+path+"?_pragma=busy_timeout(100000)&_txlock=immediate", sqlstore.SQLite())
		},
		"postgres": func() store.Store { return database("pgx", p.URL(p.NewDatabase(t)), sqlstore.PostgreSQL()) },
		"mariadb": func() store.Store {
			m := servers.StartMariaDB(t)
			return database("mysql", m.DSN(m.NewDatabase(t)), sqlstore.MySQL())
		},
		"kubernetes": func() store.Store {
			k := servers.StartKubernetes(t)
			config, err := kubestore.Kubeconfig(k.Kubeconfig(t, k.Address(), "admin"))
			must(t, err)
			config.Namespace = k.NewNamespace(t)
			st, err := kubestore.New(config, nil)
			must(t, err)
			return st
		},
		"dynamodb": func() store.Store {
			c := amazon.DynamoDB(amazon.StartDynamoDB(t), nil)
			amazon.NewTable(t, c, "ids")
			st, err := dynamostore.New(c, "ids", nil)
			must(t, err)
			return st
		},
		"s3": func() store.Store {
			st, err := s3store.New(amazon.S3(amazon.StartS3(t), nil), amazon.Bucket, nil)
			must(t, err)
			return st
		},
		"etcd": func() store.Store {
			n++
			st, err := etcdstore.New(etcd, &etcdstore.Options{Prefix: fmt.Sprint("move", n)})
			must(t, err)
			return st
		},
		"redis": func() store.Store {
			n++
			st, err := redisstore.New(redis, &redisstore.Options{Prefix: fmt.Sprint("move", n)})
			must(t, err)
			return st
		},
	}
}

// Each kind of store moves to others and back, while programs use it: to
// each of four, or to PostgreSQL. Each mover dies at another write.
func TestMoveBetweenServers(t *testing.T) {
	kinds, n := empty(t), 1
	all := []string{"sqlite", "postgres", "etcd", "redis"}
	for from := range kinds {
		for to := range kinds {
			if testing.Short() && from+to != "postgresetcd" && from+to != "sqliteredis" ||
				!slices.Contains(all, to) || !slices.Contains(all, from) && to != "postgres" {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				s := newScene(t, kinds[from](), kinds[to]())
				if trial(s, n, n%ways); t.Failed() {
					t.Fatalf("the mover died at write %d", n)
				}
			})
			n += 2
		}
	}
}

// The commands of docs/operate/move.md work, in their order, on PostgreSQL
// and etcd.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operate/move.md")
	must(t, err)
	p, e := servers.StartPostgres(t), servers.StartEtcd(t)
	program := servers.Program(t, servers.Snowfence)
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString("set -eux\nsnowfence() { " + program + " \"$@\"; }\n")
	n := 0
	for line := range strings.Lines(string(page)) {
		command := strings.TrimLeft(line, " ")
		if strings.HasPrefix(line, "    ") && strings.HasPrefix(command, "snowfence ") {
			n++
			script.WriteString(command)
		} else if strings.HasPrefix(line, "       export OLD=") {
			_, port, _ := strings.Cut(e.URL(), "http://")
			fmt.Fprintf(&script, "export OLD='%s' NEW='etcd://%s' OTHER=sqlite:%s/other.db\n",
				p.URL(p.NewDatabase(t)), port, dir)
			script.WriteString("snowfence new --store \"$OLD\"\n")
		}
	}
	if n < 8 {
		t.Fatalf("only %d commands", n)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
