package scale

import (
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/rueidis"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// opened is where stores with nothing in them come from.
type opened struct {
	fresh  func(t testing.TB) store.Store
	server *servers.Process // nil where there is none
	dir    string           // what it keeps; "" for memory
}

// kinds are the stores, as the programs that use them would open them.
var kinds = []struct {
	name   string
	server bool
	open   func(t testing.TB) opened
}{
	{"memory", false, func(testing.TB) opened {
		return opened{fresh: func(testing.TB) store.Store { return store.NewMemory() }}
	}},
	{"SQLite", false, func(t testing.TB) opened {
		var n atomic.Int64
		dir := t.TempDir()
		return opened{func(t testing.TB) store.Store {
			file := filepath.Join(dir, fmt.Sprint("ids", n.Add(1), ".db"))
			return overSQL(t, "sqlite", "file:"+file+
				"?_pragma=busy_timeout(10000)&_txlock=immediate", sqlstore.SQLite())
		}, nil, dir}
	}},
	{"PostgreSQL", true, func(t testing.TB) opened {
		p := servers.StartPostgres(t)
		return opened{func(t testing.TB) store.Store {
			return overSQL(t, "pgx", p.URL(p.NewDatabase(t)), sqlstore.PostgreSQL())
		}, p.Process, p.Dir}
	}},
	{"MariaDB", true, func(t testing.TB) opened {
		m := servers.StartMariaDB(t)
		return opened{func(t testing.TB) store.Store {
			return overSQL(t, "mysql", m.DSN(m.NewDatabase(t)), sqlstore.MySQL())
		}, m.Process, m.Dir}
	}},
	{"etcd", true, func(t testing.TB) opened {
		var n atomic.Int64
		e := servers.StartEtcd(t)
		c := servers.EtcdClient(t, e)
		return opened{func(t testing.TB) store.Store {
			st, err := etcdstore.New(c, &etcdstore.Options{Prefix: fmt.Sprint("scale", n.Add(1))})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}, e.Process, e.Dir}
	}},
	{"Redis", true, func(t testing.TB) opened {
		var n atomic.Int64
		r := servers.StartRedis(t)
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{r.Address()}, ForceSingleClient: true,
			DisableCache: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return opened{func(t testing.TB) store.Store {
			st, err := redisstore.New(c, &redisstore.Options{Prefix: fmt.Sprint("scale", n.Add(1))})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}, r.Process, r.Dir}
	}},
}

func overSQL(t testing.TB, driver, dsn string, d sqlstore.Dialect) store.Store {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(8)
	st, err := sqlstore.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// size returns the bytes of the files in a folder.
func size(dir string) (n int64) {
	if dir == "" {
		return 0
	}
	// a file that goes away meanwhile has no size
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
