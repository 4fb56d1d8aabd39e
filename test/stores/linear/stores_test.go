package linear

import (
	"database/sql"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/rueidis"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// killed is a server that is killed and started again: what it acknowledged
// must still be there.
func killed(p *servers.Process, port int) fault {
	return fault{"server killed", func(t *testing.T, h *history, rnd *rand.Rand) {
		p.Kill()
		h.kills = append(h.kills, h.now())
		pause(rnd, 40)
		for deadline := time.Now().Add(patience); ; {
			// A child of the old process that still has its port would be
			// taken for the new one.
			for accepts(port) && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			p.Restart(t)
			if listens(p, port) {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s does not start again", p.Name)
				return
			}
			p.Kill() // what is left of the old process was still in the way
		}
	}}
}

// accepts reports whether a process accepts connections at a port.
func accepts(port int) bool {
	c, err := net.DialTimeout("tcp", servers.Address(port), time.Second)
	return err == nil && c.Close() == nil
}

// listens waits until a server accepts connections, and returns false if it
// ended instead.
func listens(p *servers.Process, port int) bool {
	for began := time.Now(); time.Since(began) < patience; {
		if accepts(port) {
			return true
		}
		select {
		case <-p.Done():
			time.Sleep(20 * time.Millisecond)
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

func openSQL(t *testing.T, driver, dsn string, d sqlstore.Dialect) store.Store {
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

// TestSQLite has clients with databases of their own over one file, as
// processes have.
func TestSQLite(t *testing.T) {
	t.Parallel()
	dsn := "file:" + filepath.Join(t.TempDir(), "ids.db") + "?_pragma=busy_timeout(10000)&_txlock=immediate"
	check(t, subject{open: func(t *testing.T) store.Store { return openSQL(t, "sqlite", dsn, sqlstore.SQLite()) }})
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "recovery_init_sync_method=syncfs") // the whole folder otherwise, before it answers
	l := newLink(t, servers.Address(p.Port))
	url := strings.Replace(p.URL(p.NewDatabase(t)), servers.Address(p.Port), l.address, 1)
	check(t, subject{
		open:   func(t *testing.T) store.Store { return openSQL(t, "pgx", url, sqlstore.PostgreSQL()) },
		link:   l,
		faults: append(l.faults(), killed(p.Process, p.Port)),
	})
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	l := newLink(t, servers.Address(m.Port))
	dsn := strings.Replace(m.DSN(m.NewDatabase(t)), servers.Address(m.Port), l.address, 1)
	check(t, subject{
		open:   func(t *testing.T) store.Store { return openSQL(t, "mysql", dsn, sqlstore.MySQL()) },
		link:   l,
		faults: append(l.faults(), killed(m.Process, m.Port)),
		early:  true,
	})
}

// TestRedis has a single server that syncs with each write. What replicas
// may lose is no question of linearizability, but known to be lost.
func TestRedis(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t)
	l := newLink(t, r.Address())
	check(t, subject{
		open: func(t *testing.T) store.Store {
			t.Helper()
			c, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress:       []string{l.address},
				ForceSingleClient: true, DisableCache: true,
			})
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
		link:   l,
		faults: append(l.faults(), killed(r.Process, r.Port)),
	})
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	m := servers.StartEtcd(t)
	l := newLink(t, servers.Address(m.Port))
	check(t, subject{
		open:   func(t *testing.T) store.Store { return openEtcd(t, "http://"+l.address) },
		link:   l,
		faults: append(l.faults(), killed(m.Process, m.Port)),
	})
}

// TestEtcdCluster kills members of three in turn, the leader among them.
func TestEtcdCluster(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	var urls []string
	var faults []fault
	for _, m := range servers.StartEtcdCluster(t, 3) {
		l := newLink(t, servers.Address(m.Port))
		urls = append(urls, "http://"+l.address)
		faults = append(faults, killed(m.Process, m.Port))
		faults = append(faults, l.faults()...)
	}
	check(t, subject{open: func(t *testing.T) store.Store { return openEtcd(t, urls...) }, faults: faults})
}

func openEtcd(t *testing.T, urls ...string) store.Store {
	t.Helper()
	st, err := etcdstore.New(servers.EtcdClientOf(t, servers.EtcdConfig(urls...)), &etcdstore.Options{Prefix: "linear"})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestDynamoDB and TestS3 ask stand-ins in memory, which are never killed:
// it is about what the stores make of answers that are late, lost, or of
// another write.
func TestDynamoDB(t *testing.T) {
	t.Parallel()
	address := amazon.StartDynamoDB(t)
	amazon.NewTable(t, amazon.DynamoDB(address, nil), "ids")
	l := newLink(t, address)
	check(t, subject{
		open: func(t *testing.T) store.Store {
			t.Helper()
			st, err := dynamostore.New(amazon.DynamoDB(l.address, nil), "ids", nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		},
		link:   l,
		faults: l.faults(),
	})
}

func TestS3(t *testing.T) {
	t.Parallel()
	l := newLink(t, amazon.StartS3(t))
	check(t, subject{
		open: func(t *testing.T) store.Store {
			t.Helper()
			st, err := s3store.New(amazon.S3(l.address, nil), amazon.Bucket, nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		},
		link:   l,
		faults: l.faults(),
	})
}
