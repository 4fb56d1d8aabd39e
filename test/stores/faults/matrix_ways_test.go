//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// ways are those of the page. The first of each store is played in short
// form, too.
var ways = slices.Concat(allOpen, closed(allOpen))

// closed are the ways of PostgreSQL, where a program may call no function
// of control or log: see "Managed databases" on the page.
func closed(all []way) (out []way) {
	for _, w := range all {
		if w.store != "PostgreSQL" {
			continue
		}
		out = append(out, way{"closed PostgreSQL", w.name, func(t testing.TB) (string, func() func()) {
			url, save := w.begin(t)
			_, err := database(t, "pgx", url).Exec("CREATE ROLE app LOGIN IN ROLE postgres; REVOKE EXECUTE ON" +
				" FUNCTION pg_control_system(), pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn(), pg_walfile_name(pg_lsn)" +
				" FROM PUBLIC, postgres")
			must(t, err)
			return strings.Replace(url, "postgres@", "app@", 1), save
		}})
	}
	return out
}

var allOpen = []way{
	{"SQLite", "the rows of both tables", sqliteRows("snowfence_lease", "snowfence_meta")},
	{"SQLite", "the rows of `snowfence_lease`", sqliteRows("snowfence_lease")},
	{"SQLite", "an UPDATE by hand", sqliteBy(sqliteCopy("snowfence_lease"), byHand("side.snowfence_lease"))},
	{"SQLite", "a copy of the file", sqliteFiles("mv", "")},
	{"SQLite", "a snapshot with the `-witness`", sqliteFiles("cp", "", "-witness")},

	{"PostgreSQL", "a dump", postgresDump("DROP TABLE snowfence_lease, snowfence_meta")},
	{"PostgreSQL", "a dump of data alone", postgresDump("TRUNCATE snowfence_lease, snowfence_meta", "--data-only")},
	{"PostgreSQL", "a dump of `snowfence_lease`", postgresDump("DROP TABLE snowfence_lease", "--table=snowfence_lease")},
	{"PostgreSQL", "an UPDATE by hand", postgresSQL("CREATE TABLE kept AS TABLE snowfence_lease", byHand("kept"))},
	{"PostgreSQL", "a renamed table", postgresSQL(
		"CREATE TABLE kept (LIKE snowfence_lease INCLUDING ALL); INSERT INTO kept TABLE snowfence_lease",
		"ALTER TABLE snowfence_lease RENAME TO old; ALTER TABLE kept RENAME TO snowfence_lease",
	)},
	{"PostgreSQL", "a crash of `UNLOGGED` tables", postgresUnlogged},
	{"PostgreSQL", "a stale replica", postgresReplica},
	{"PostgreSQL", "a base backup without recovery.signal", postgresBase},
	{"PostgreSQL", "a copied folder", postgresFolder},

	{"MariaDB", "a dump", mariadbDump("DROP TABLE snowfence_lease; DROP TABLE snowfence_meta")},
	{"MariaDB", "a dump of data alone", mariadbDump("DELETE FROM snowfence_lease; DELETE FROM snowfence_meta",
		"--no-create-info", "--skip-triggers")},
	{"MariaDB", "a dump of `snowfence_lease`", mariadbDump("DROP TABLE snowfence_lease", "--tables", "snowfence_lease")},
	{"MariaDB", "an UPDATE by hand", mariadbSQL(
		"CREATE TABLE kept LIKE snowfence_lease; INSERT INTO kept SELECT * FROM snowfence_lease", byHand("kept"),
	)},
	{"MariaDB", "a renamed table", mariadbSQL(
		"CREATE TABLE kept LIKE snowfence_lease; INSERT INTO kept SELECT * FROM snowfence_lease",
		"RENAME TABLE snowfence_lease TO old, kept TO snowfence_lease",
	)},
	{"MariaDB", "an imported tablespace", mariadbImport},
	{"MariaDB", "a flashback of `snowfence_lease`", mariadbFlashback},
	{"MariaDB", "a stale replica", mariadbReplica},
	{"MariaDB", "a folder copied by `cp -a`", mariadbFolder},

	{"etcd", "all keys", etcdKeys("snowfence/")},
	{"etcd", "all keys but `snowfence/id`", etcdKeys("snowfence/r/")},
	{"etcd", "a snapshot with another token", etcdSnapshot("other")},
	{"etcd", "a snapshot with the same token", etcdSnapshot("etcd-cluster")},
	{"etcd", "a copied folder", etcdFolder},

	{"Kubernetes", "a snapshot of its etcd", kubernetesSnapshot},
	{"Kubernetes", "a copied folder of its etcd", kubernetesFolder},
	{"Kubernetes", "the objects, deleted and made again", kubernetesObjects},
	{"Kubernetes", "the objects, in place", kubernetesInPlace},

	{"Redis", "a copied append-only file", redisFile},
	{"Redis", "all keys", redisKeys("")},
	{"Redis", "the key of records", redisKeys(":records")},
	{"Redis", "another database (`SWAPDB`)", redisSwap},
	{"Redis", "`FLUSHALL`, and the namespace made again", redisFlush},
	{"Redis", "a stale replica", redisReplica},

	{"DynamoDB", "a table, under its old name", dynamoTable},
	{"DynamoDB", "the items, in place", dynamoItems},

	{"S3", "a copied bucket, under its old name", s3Bucket},
	{"S3", "copies of all objects, in place", s3Copies("")},
	{"S3", "copies of all objects but `identity`, in place", s3Copies("identity")},
}

// byHand puts the columns of a lease back, by node and namespace.
func byHand(kept string) string {
	var set []string
	for _, c := range []string{
		"nonce", "revision", "generation", "run_from", "until", "prev_until", "holder",
		"label", "veto", "written_at", "data",
	} {
		set = append(set, fmt.Sprintf("%s = (SELECT k.%s FROM %s k WHERE k.namespace = snowfence_lease.namespace"+
			" AND k.node = snowfence_lease.node)", c, c, kept))
	}
	return "UPDATE snowfence_lease SET " + strings.Join(set, ", ") + " WHERE EXISTS (SELECT 1 FROM " + kept +
		" k WHERE k.namespace = snowfence_lease.namespace AND k.node = snowfence_lease.node)"
}

func run(t testing.TB, program string, args ...string) string {
	t.Helper()
	return tests.Run(t, exec.Command(program, args...))
}

// folder copies a folder while the server is down, and puts the copy in its
// place.
func folder(t testing.TB, dir string, down, kill, up func()) func() {
	kept := filepath.Join(t.TempDir(), "kept")
	down()
	run(t, "cp", "-a", dir, kept)
	up()
	return func() {
		kill()
		must(t, os.RemoveAll(dir))
		run(t, "cp", "-a", kept, dir)
		up()
	}
}

type beginning = func(t testing.TB) (string, func() func())

func sqliteCopy(tables ...string) (statements string) {
	for _, table := range tables {
		statements += "CREATE TABLE side." + table + " AS SELECT * FROM main." + table + ";"
	}
	return statements
}

func sqliteRows(tables ...string) beginning {
	back := "BEGIN IMMEDIATE;"
	for _, table := range tables {
		back += "DELETE FROM main." + table + "; INSERT INTO main." + table + " SELECT * FROM side." + table + ";"
	}
	return sqliteBy(sqliteCopy(tables...), back+"COMMIT")
}

func sqliteBy(save, back string) beginning {
	return func(t testing.TB) (string, func() func()) {
		path := filepath.Join(t.TempDir(), "ids.db")
		sql := func(statements string) {
			run(t, servers.Need(t, "sqlite", "sqlite3")[0], "-cmd", ".timeout 10000", path,
				"ATTACH '"+path+".side' AS side; "+statements)
		}
		return "sqlite:" + path, func() func() {
			sql(save)
			return func() { sql(back) }
		}
	}
}

// sqliteFiles puts copies of files back: by mv, as the page of operations
// says, or by cp, which keeps the inode, as a snapshot does.
func sqliteFiles(how string, suffixes ...string) beginning {
	return func(t testing.TB) (string, func() func()) {
		path := filepath.Join(t.TempDir(), "ids.db")
		return "sqlite:" + path, func() func() {
			run(t, servers.Need(t, "sqlite", "sqlite3")[0], "-cmd", ".timeout 10000", path, ".backup "+path+".kept")
			run(t, "cp", path+"-witness", path+".kept-witness")
			return func() {
				_ = os.Remove(path + "-wal")
				_ = os.Remove(path + "-shm")
				for _, s := range suffixes {
					run(t, how, path+".kept"+s, path+s)
				}
			}
		}
	}
}

func postgres(t testing.TB, settings ...string) (*servers.Postgres, string, string) {
	p := servers.StartPostgres(t, settings...)
	name := p.NewDatabase(t)
	return p, name, p.URL(name)
}

func postgresDump(before string, args ...string) beginning {
	return func(t testing.TB) (string, func() func()) {
		p, name, url := postgres(t)
		return url, func() func() {
			dump := p.Dump(t, name, args...)
			return func() {
				p.SQL(t, name, before)
				p.Load(t, name, dump)
			}
		}
	}
}

func postgresSQL(save, back string) beginning {
	return func(t testing.TB) (string, func() func()) {
		p, name, url := postgres(t)
		return url, func() func() {
			p.SQL(t, name, save)
			return func() { p.SQL(t, name, back) }
		}
	}
}

func postgresUnlogged(t testing.TB) (string, func() func()) {
	p, name, url := postgres(t)
	return url, func() func() {
		return func() {
			p.SQL(t, name, "ALTER TABLE snowfence_lease SET UNLOGGED; ALTER TABLE snowfence_meta SET UNLOGGED")
			p.Kill()
			p.Again(t)
		}
	}
}

func postgresFolder(t testing.TB) (string, func() func()) {
	p, _, url := postgres(t)
	return url, func() func() {
		return folder(t, p.Dir, func() { p.StopCleanly(t) }, p.Kill, func() { p.Again(t) })
	}
}

func postgresBase(t testing.TB) (string, func() func()) {
	p, _, url := postgres(t)
	return url, func() func() {
		kept := p.Dir + ".kept"
		p.Run(t, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", "-D", kept, "-c",
			"fast", "--no-sync")
		return func() {
			p.Kill()
			run(t, "rm", "-rf", p.Dir)
			run(t, "mv", kept, p.Dir)
			p.Again(t)
		}
	}
}

func postgresReplica(t testing.TB) (string, func() func()) {
	p, name, _ := postgres(t)
	c := relay.Start(t, servers.Address(p.Port), nil, nil)
	return "postgres://postgres@" + c.Address + "/" + name + "?sslmode=disable", func() func() {
		s := p.Standby(t)
		s.SQL(t, "postgres", "ALTER SYSTEM SET primary_conninfo = ''")
		s.SQL(t, "postgres", "SELECT pg_reload_conf()")
		within(t, patience, "the replica is cut off", func() bool {
			return s.SQL(t, "postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0"
		})
		return func() {
			p.Kill()
			s.Promote(t)
			c.Lead(servers.Address(s.Port))
		}
	}
}

func mariadb(t testing.TB, settings ...string) (*servers.MariaDB, string, string) {
	m := servers.StartMariaDB(t, settings...)
	name := m.NewDatabase(t)
	return m, name, m.URL(name)
}

// otherSecond ends in another second: MariaDB knows no more of when a table
// was made.
const otherSecond = "DO SLEEP(1)"

func mariadbDump(before string, args ...string) beginning {
	return func(t testing.TB) (string, func() func()) {
		m, name, url := mariadb(t)
		return url, func() func() {
			m.SQL(t, name, otherSecond)
			dump := m.Dump(t, name, args...)
			return func() {
				m.SQL(t, name, before)
				m.Load(t, name, dump)
			}
		}
	}
}

func mariadbSQL(save, back string) beginning {
	return func(t testing.TB) (string, func() func()) {
		m, name, url := mariadb(t)
		return url, func() func() {
			m.SQL(t, name, otherSecond+"; "+save)
			return func() { m.SQL(t, name, back) }
		}
	}
}

func mariadbImport(t testing.TB) (string, func() func()) {
	m, name, url := mariadb(t)
	return url, func() func() {
		kept, files := t.TempDir(), filepath.Join(m.Dir, name, "snowfence_lease.")
		m.SQL(t, name, fmt.Sprintf("FLUSH TABLES snowfence_lease FOR EXPORT; \\! cp %sibd %scfg %s\nUNLOCK TABLES",
			files, files, kept))
		return func() {
			m.SQL(t, name, "ALTER TABLE snowfence_lease DISCARD TABLESPACE")
			run(t, "cp", kept+"/snowfence_lease.ibd", kept+"/snowfence_lease.cfg", filepath.Dir(files))
			m.SQL(t, name, "ALTER TABLE snowfence_lease IMPORT TABLESPACE")
		}
	}
}

func mariadbFlashback(t testing.TB) (string, func() func()) {
	m, name, url := mariadb(t, "--server-id=1", "--log-bin=log", "--sync-binlog=1", "--binlog-format=ROW",
		"--binlog-row-image=FULL")
	return url, func() func() {
		at := strings.Fields(m.SQL(t, "", "SHOW MASTER STATUS"))
		return func() {
			m.Load(t, name, run(t, servers.Need(t, "mysql", "mariadb-binlog")[0], "--no-defaults", "--flashback",
				"--start-position="+at[1], "-d", name, "-T", "snowfence_lease", filepath.Join(m.Dir, at[0])))
		}
	}
}

func mariadbReplica(t testing.TB) (string, func() func()) {
	m, name, _ := mariadb(t, "--server-id=1", "--log-bin", "--sync-binlog=1")
	c := relay.Start(t, servers.Address(m.Port), nil, nil)
	m.SQL(t, "", "CREATE USER repl IDENTIFIED BY 'x'; GRANT REPLICATION SLAVE ON *.* TO repl")
	r := servers.StartMariaDB(t, "--server-id=2", "--log-bin", "--sync-binlog=1", "--read-only=1")
	r.SQL(t, "", fmt.Sprintf("CHANGE MASTER TO master_host='127.0.0.1', master_port=%d, master_user='repl', "+
		"master_password='x', master_use_gtid=slave_pos; START SLAVE", m.Port))
	return "mysql://root@" + c.Address + "/" + name, func() func() {
		r.SQL(t, "", "SELECT MASTER_GTID_WAIT('"+m.SQL(t, "", "SELECT @@gtid_binlog_pos")+"', 60)")
		r.SQL(t, "", "STOP SLAVE")
		return func() {
			m.Kill()
			r.SQL(t, "", "SET GLOBAL read_only = 0")
			c.Lead(servers.Address(r.Port))
		}
	}
}

func mariadbFolder(t testing.TB) (string, func() func()) {
	m, _, url := mariadb(t)
	return url, func() func() {
		m.SQL(t, "", otherSecond)
		return folder(t, m.Dir, func() { m.StopCleanly(t) }, m.Kill, func() { m.Restart(t); m.Up(t) })
	}
}

func etcd(t testing.TB) (*servers.Etcd, string) {
	e := servers.StartEtcd(t)
	return e, "etcd://" + servers.Address(e.Port)
}

func etcdKeys(prefix string) beginning {
	return func(t testing.TB) (string, func() func()) {
		e, url := etcd(t)
		c := servers.EtcdClient(t, e)
		return url, func() func() {
			kept, err := c.Get(t.Context(), prefix, clientv3.WithPrefix())
			must(t, err)
			return func() {
				for _, kv := range kept.Kvs {
					must(t, tests.ErrOf(c.Put(t.Context(), string(kv.Key), string(kv.Value))))
				}
			}
		}
	}
}

func etcdSnapshot(token string) beginning {
	return func(t testing.TB) (string, func() func()) {
		e, url := etcd(t)
		return url, func() func() {
			kept := filepath.Join(t.TempDir(), "kept")
			e.Save(t, kept)
			return func() {
				e.Kill()
				e.Restore(t, kept, token)
				e.Restart(t)
				e.AwaitHealthy(t)
			}
		}
	}
}

func etcdFolder(t testing.TB) (string, func() func()) {
	e, url := etcd(t)
	return url, func() func() {
		up := func() { e.Restart(t); e.AwaitHealthy(t) }
		return folder(t, e.Dir, func() { e.Stop(t, syscall.SIGTERM) }, e.Kill, up)
	}
}

func redisFile(t testing.TB) (string, func() func()) {
	r := servers.StartRedis(t)
	return r.URL(), func() func() {
		return folder(t, r.Dir, func() { r.End(t) }, r.Kill, func() { r.Again(t) })
	}
}

// keysOf returns the keys of namespaces and servers. A server makes the
// namespace "default".
func keysOf(suffix string) (keys []string) {
	for _, name := range []string{"default", cell, "##servers"} {
		for _, s := range []string{":meta", ":records", ":nodes"} {
			if suffix == "" || s == suffix {
				keys = append(keys, "snowfence:{"+name+"}"+s)
			}
		}
	}
	return keys
}

func redisKeys(suffix string) beginning {
	return func(t testing.TB) (string, func() func()) {
		r := servers.StartRedis(t)
		return r.URL(), func() func() {
			for _, key := range keysOf(suffix) {
				r.Do(t, "COPY", key, "kept:"+key) // 0 if there is none
			}
			return func() {
				for _, key := range keysOf(suffix) {
					r.Do(t, "COPY", "kept:"+key, key, "REPLACE")
				}
			}
		}
	}
}

func redisSwap(t testing.TB) (string, func() func()) {
	r := servers.StartRedis(t)
	return r.URL(), func() func() {
		for _, key := range append(keysOf(""), "snowfence:{@}:namespaces", "snowfence:{@}:meta") {
			r.Do(t, "COPY", key, key, "DB", "1")
		}
		return func() { r.Do(t, "SWAPDB", "0", "1") }
	}
}

func redisFlush(t testing.TB) (string, func() func()) {
	r := servers.StartRedis(t)
	return r.URL(), func() func() {
		return func() {
			r.Do(t, "FLUSHALL")
			makeAgain(t, r.URL())
		}
	}
}

func redisReplica(t testing.TB) (string, func() func()) {
	r := servers.StartRedis(t)
	return r.URL(), func() func() {
		s := servers.StartRedis(t)
		s.Follow(t, r)
		s.Do(t, "REPLICAOF", "NO", "ONE")
		return func() {
			r.Follow(t, s)
			r.Do(t, "REPLICAOF", "NO", "ONE")
		}
	}
}
