package linear

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/rueidis"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/servers"
)

// killed is a server that is killed and started again: what it acknowledged must still be there.
func killed(p *servers.Process) fault {
	return fault{"server killed", func(t *testing.T, rnd *rand.Rand) {
		p.Kill()
		pause(rnd, 40)
		p.Restart(t)
		pause(rnd, 600) // it takes a moment to start, and something has to happen before the next fault
	}}
}

func openSQL(t *testing.T, driver, dsn string, d sqlstore.Dialect) lease.Store {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestSQLite has clients with databases of their own over one file, as processes have.
func TestSQLite(t *testing.T) {
	dsn := "file:" + filepath.Join(t.TempDir(), "ids.db") + "?_pragma=busy_timeout(10000)&_txlock=immediate"
	check(t, subject{open: func(t *testing.T) lease.Store { return openSQL(t, "sqlite", dsn, sqlstore.SQLite()) }})
}

func TestPostgreSQL(t *testing.T) {
	p := servers.StartPostgres(t)
	l := newLink(t, servers.Address(p.Port))
	url := strings.Replace(p.URL(p.NewDatabase(t)), servers.Address(p.Port), l.address, 1)
	check(t, subject{
		open:   func(t *testing.T) lease.Store { return openSQL(t, "pgx", url, sqlstore.PostgreSQL()) },
		faults: append(l.faults(), killed(p.Process)),
	})
}

func TestMariaDB(t *testing.T) {
	m := servers.StartMariaDB(t)
	l := newLink(t, servers.Address(m.Port))
	dsn := strings.Replace(m.DSN(m.NewDatabase(t)), servers.Address(m.Port), l.address, 1)
	check(t, subject{
		open:   func(t *testing.T) lease.Store { return openSQL(t, "mysql", dsn, sqlstore.MySQL()) },
		faults: append(l.faults(), killed(m.Process)),
	})
}

// TestRedis has a single server that syncs with each write. What replicas may lose is no question of linearizability, but known to be lost.
func TestRedis(t *testing.T) {
	r := servers.StartRedis(t)
	l := newLink(t, r.Address())
	check(t, subject{
		open: func(t *testing.T) lease.Store {
			t.Helper()
			c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{l.address}, ForceSingleClient: true, DisableCache: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			st, err := redisstore.New(c, nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		},
		faults: append(l.faults(), killed(r.Process)),
	})
}

func TestEtcd(t *testing.T) {
	m := servers.StartEtcd(t)
	l := newLink(t, servers.Address(m.Port))
	check(t, subject{
		open:   func(t *testing.T) lease.Store { return openEtcd(t, "http://"+l.address) },
		faults: append(l.faults(), killed(m.Process)),
	})
}

// TestEtcdCluster kills members of three in turn, the leader among them.
func TestEtcdCluster(t *testing.T) {
	var urls []string
	var faults []fault
	for _, m := range servers.StartEtcdCluster(t, 3) {
		l := newLink(t, servers.Address(m.Port))
		urls = append(urls, "http://"+l.address)
		faults = append(faults, killed(m.Process))
		faults = append(faults, l.faults()...)
	}
	check(t, subject{open: func(t *testing.T) lease.Store { return openEtcd(t, urls...) }, faults: faults})
}

func openEtcd(t *testing.T, urls ...string) lease.Store {
	t.Helper()
	st, err := etcdstore.New(servers.EtcdClientOf(t, servers.EtcdConfig(urls...)), &etcdstore.Options{Prefix: "linear"})
	if err != nil {
		t.Fatal(err)
	}
	return st
}
