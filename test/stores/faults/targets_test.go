//go:build linux

package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/link"
	"github.com/snowfence/snowfence/test/harness/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// targets starts the stores, by kind.
var targets = map[string]func(t testing.TB) *target{
	"SQLite":     sqliteTarget,
	"PostgreSQL": postgresTarget,
	"MariaDB":    mariadbTarget,
	"Redis":      redisTarget,
	"etcd":       etcdTarget,
	"Kubernetes": kubernetesTarget,
	"DynamoDB":   dynamoTarget,
	"S3":         s3Target,

	"etcd, three members":                 clusterTarget,
	"Redis, two replicas behind Sentinel": sentinelTarget,
}

// reach opens the store for the test itself.
func (tg *target) reach(t testing.TB, url string) {
	t.Helper()
	st, closeStore, err := kinds.Open(url, time.Second)
	must(t, err)
	t.Cleanup(func() {
		must(t, closeStore())
	})
	tg.store = st
}

// serve fills in what is the same for all servers: url is the URL of the
// server at port, up waits until it answers.
func (tg *target) serve(t testing.TB, p *servers.Process, port int, url string, up func(t testing.TB)) *target {
	t.Helper()
	tg.reach(t, url)
	server := servers.Address(port)
	tg.link = link.New(t, server)
	through := func(url string) string { return strings.Replace(url, server, tg.link.Address, 1) }
	tg.url = through(url)
	if fresh := tg.fresh; fresh != nil {
		tg.fresh = func(t testing.TB, round int) string { return through(fresh(t, round)) }
	}
	tg.hurtable(func() *servers.Process { return p }, up)
	return tg
}

// hurtable fills in how to hurt the server that leads.
func (tg *target) hurtable(leader func() *servers.Process, up func(t testing.TB)) {
	hurt := leader()
	tg.pids = func() []int {
		hurt = leader()
		return tree(hurt.Pid())
	}
	tg.kill = func() {
		hurt = leader()
		signalTree(hurt.Pid(), syscall.SIGKILL)
		hurt.Kill()
	}
	tg.dead = func() bool {
		select {
		case <-hurt.Done():
			return true
		default:
			return false
		}
	}
	tg.restart = func(t testing.TB) {
		hurt.Restart(t)
		up(t)
	}
}

func sqliteTarget(t testing.TB) *target {
	d := newDisk(t, "32m", func(*disk) {})
	path := filepath.Join(d.dir, "ids.db")
	tg := &target{kind: "SQLite", url: "sqlite:" + path, disk: d}
	tg.reach(t, tg.url)
	db := database(t, "sqlite", path)
	tg.empty = func(t testing.TB) {
		// What was written to the log before is room that can be used
		// again.
		within(t, patience, "the log is empty", func() bool {
			var busy, pages, done int
			err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &done)
			return err == nil && busy == 0
		})
	}
	tg.lock = func(t testing.TB) func() {
		c, err := db.Conn(t.Context())
		must(t, err)
		tests.NoError(t, tests.ErrOf(c.ExecContext(t.Context(), "PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE")))
		return func() {
			must(t, tests.ErrOf(c.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")))
			_ = c.Close()
		}
	}
	tg.fresh = func(_ testing.TB, round int) string { return fmt.Sprintf("sqlite:%s.%d", path, round) }
	return tg
}

func database(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() }) // its server may be gone
	return db
}

// hoard runs a statement that takes room until the server has no more, or
// is gone.
func hoard(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	within(t, patience, "the server has no room", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := db.ExecContext(ctx, statement)
		return err != nil
	})
}

func postgresTarget(t testing.TB) *target {
	var p *servers.Postgres
	tg := &target{kind: "PostgreSQL"}
	tg.disk = newDisk(t, map[bool]string{false: "160m", true: "400m"}[*long],
		func(*disk) { p = servers.StartPostgres(t, "min_wal_size=32MB", "max_wal_size=32MB") })
	name := p.NewDatabase(t)
	tg.readOnly = func(t testing.TB, on bool) {
		p.SQL(t, "postgres", "ALTER SYSTEM SET default_transaction_read_only = "+strconv.FormatBool(on))
		p.SQL(t, "postgres", "SELECT pg_reload_conf()")
	}
	tg.fresh = func(t testing.TB, _ int) string { return p.URL(p.NewDatabase(t)) }
	db := database(t, "pgx", p.URL(name))
	tg.press = func(t testing.TB) { // the log: a table grows no more while the log still has room
		hoard(t, db, "SELECT pg_logical_emit_message(true, 'hoard', repeat('x', 1000000))")
	}
	return tg.serve(t, p.Process, p.Port, p.URL(name), p.Up)
}

func mariadbTarget(t testing.TB) *target {
	var m *servers.MariaDB
	tg := &target{kind: "MariaDB"}
	tg.disk = newDisk(t, "200m", func(*disk) { m = servers.StartMariaDB(t, "--innodb-log-file-size=16M") })
	// As users should have it: the program's user may write its tables, and
	// nothing when the server is read-only.
	m.SQL(t, "", "CREATE USER ids; GRANT ALL ON `db%`.* TO ids")
	name := m.NewDatabase(t)
	url := func(database string) string { return strings.Replace(m.URL(database), "root@", "ids@", 1) }
	tg.readOnly = func(t testing.TB, on bool) {
		m.SQL(t, "", "SET GLOBAL read_only = "+strconv.FormatBool(on))
	}
	tg.fresh = func(t testing.TB, _ int) string { return url(m.NewDatabase(t)) }
	m.SQL(t, name, "CREATE TABLE hoard (text TEXT)")
	db := database(t, "mysql", m.DSN(name))
	tg.press = func(t testing.TB) {
		hoard(t, db, "INSERT INTO hoard SELECT RAND() FROM seq_1_to_100000")
	}
	return tg.serve(t, m.Process, m.Port, url(name), m.Up)
}

func redisTarget(t testing.TB) *target {
	var r *servers.Redis
	tg := &target{kind: "Redis"}
	tg.disk = newDisk(t, "32m", func(*disk) { r = servers.StartRedis(t) })
	unused := servers.Ports(t, 1)[0]
	tg.readOnly = func(t testing.TB, on bool) {
		if on {
			r.Do(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(unused)) // a master that is unreachable: the data stays
			return
		}
		r.Do(t, "REPLICAOF", "NO", "ONE")
	}
	tg.fresh = func(_ testing.TB, round int) string { return fmt.Sprintf("%s/round%d", r.URL(), round) }
	return tg.serve(t, r.Process, r.Port, r.URL(), func(t testing.TB) {
		r.Ready(t, func() error {
			if r.Field("loading") != "0" {
				return errors.New("it has not read its data yet")
			}
			return nil
		})
	})
}

func etcdTarget(t testing.TB) *target {
	var e *servers.Etcd
	tg := &target{kind: "etcd"}
	tg.disk = newDisk(t, "320m", func(*disk) { e = servers.StartEtcd(t, "--quota-backend-bytes=50331648") })
	c := servers.EtcdClient(t, e)
	// The server's own limit of space: past it, it takes no writes until an
	// operator has looked after it.
	tg.readOnly = func(t testing.TB, on bool) {
		if on {
			value := strings.Repeat("x", 1<<20)
			within(t, patience, "the limit is reached", func() bool {
				_, err := c.Put(t.Context(), "hoard", value)
				return err != nil
			})
			return
		}
		r, err := c.Get(t.Context(), "hoard")
		must(t, err)
		must(t, tests.ErrOf(c.Compact(t.Context(), r.Header.Revision, clientv3.WithCompactPhysical())))
		must(t, tests.ErrOf(c.Defragment(t.Context(), e.URL())))
		must(t, tests.ErrOf(c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})))
	}
	tg.fresh = func(_ testing.TB, round int) string {
		return fmt.Sprintf("etcd://%s/round%d", servers.Address(e.Port), round)
	}
	return tg.serve(t, e.Process, e.Port, "etcd://"+servers.Address(e.Port), e.AwaitHealthy)
}

// clusterTarget is an etcd that outlives any of its members. What is hurt
// is the one that leads.
func clusterTarget(t testing.TB) *target {
	tempDir(t) // from now on all folders of this test are in this one, not on another's disk
	members := servers.StartEtcdCluster(t, 3)
	var hosts []string
	for _, e := range members {
		hosts = append(hosts, servers.Address(e.Port))
	}
	c := servers.EtcdClient(t, members...)
	tg := &target{kind: "etcd, three members", url: "etcd://" + strings.Join(hosts, ",")}
	tg.reach(t, tg.url)
	leader := func() *servers.Process {
		var found *servers.Process
		within(t, patience, "a member leads", func() bool {
			for _, e := range members {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				s, err := c.Status(ctx, e.URL())
				cancel()
				if err == nil && s.Leader == s.Header.MemberId {
					found = e.Process
				}
			}
			return found != nil
		})
		return found
	}
	tg.hurtable(leader, func(t testing.TB) {
		for _, e := range members {
			e.AwaitHealthy(t)
		}
	})
	return tg
}

// sentinelTarget is a Redis whose master is replaced by a replica when it
// is gone. What is hurt is the master.
func sentinelTarget(t testing.TB) *target {
	tempDir(t) // as above
	s := servers.StartSentinel(t, 2)
	tg := &target{kind: "Redis, two replicas behind Sentinel", url: s.URL(), program: s.URL() + "?replicas=1"}
	tg.reach(t, tg.url)
	tg.hurtable(func() *servers.Process { return s.Master(t).Process }, func(t testing.TB) { s.Master(t) })
	return tg
}
