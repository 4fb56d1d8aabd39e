package scale

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// wire passes connections on to a server, and counts the bytes of both
// directions.
type wire struct {
	net.Listener
	bytes atomic.Int64
}

func newWire(t testing.TB, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { w.copy(far, client) })
			all.Go(func() { w.copy(client, far) })
		}
	})
	return w
}

func (w *wire) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(io.MultiWriter(to, w), from) // it ends with either end
}

func (w *wire) Write(b []byte) (int, error) {
	w.bytes.Add(int64(len(b)))
	return len(b), nil
}

// through are the stores that other machines reach, opened through a wire.
var through = []struct {
	name string
	open func(t testing.TB) (store.Store, *wire)
}{
	{"PostgreSQL", func(t testing.TB) (store.Store, *wire) {
		p := servers.StartPostgres(t)
		server := servers.Address(p.Port)
		w := newWire(t, server)
		url := strings.Replace(p.URL(p.NewDatabase(t)), server, w.Addr().String(), 1)
		return overSQL(t, "pgx", url, sqlstore.PostgreSQL()), w
	}},
	{"MariaDB", func(t testing.TB) (store.Store, *wire) {
		m := servers.StartMariaDB(t)
		server := servers.Address(m.Port)
		w := newWire(t, server)
		dsn := strings.Replace(m.DSN(m.NewDatabase(t)), server, w.Addr().String(), 1)
		return overSQL(t, "mysql", dsn, sqlstore.MySQL()), w
	}},
	{"etcd", func(t testing.TB) (store.Store, *wire) {
		e := servers.StartEtcd(t)
		w := newWire(t, servers.Address(e.Port))
		c := servers.EtcdClientOf(t, servers.EtcdConfig("http://"+w.Addr().String()))
		st, err := etcdstore.New(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return st, w
	}},
	{"Redis", func(t testing.TB) (store.Store, *wire) {
		r := servers.StartRedis(t)
		w := newWire(t, r.Address())
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{w.Addr().String()}, ForceSingleClient: true, DisableCache: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		st, err := redisstore.New(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return st, w
	}},
}

// calls counts what a lease asks of its store.
type calls struct {
	store.Store
	reads, writes atomic.Int64
}

func (c *calls) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	c.reads.Add(1)
	return c.Store.Get(ctx, keys)
}

func (c *calls) Identity(ctx context.Context, namespace string) (string, error) {
	c.reads.Add(1)
	return c.Store.Identity(ctx, namespace)
}

func (c *calls) Swap(ctx context.Context, writes []store.Write) []error {
	c.writes.Add(1)
	return c.Store.Swap(ctx, writes)
}

// BenchmarkBytes counts what one lease with a ttl of a second sends and
// receives while it is renewed b.N times. docs/choose/regions.md has its
// figures.
func BenchmarkBytes(b *testing.B) {
	for _, k := range through {
		b.Run(k.name, func(b *testing.B) {
			st, w := k.open(b)
			c := &calls{Store: st}
			s, err := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
			if err != nil {
				b.Fatal(err)
			}
			l, err := lease.Open(b.Context(), c, namespace, s, &lease.Options{Create: true, TTL: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			renewed := func() int64 { return c.writes.Load() }
			until := func(n int64) {
				for renewed() < n {
					time.Sleep(time.Millisecond)
				}
			}
			until(renewed() + 2) // the first ones prepare statements
			bytes, reads, writes := w.bytes.Load(), c.reads.Load(), renewed()
			until(writes + int64(max(b.N, 20)))
			n := float64(renewed() - writes)
			b.ReportMetric(float64(w.bytes.Load()-bytes)/n, "bytes/renewal")
			b.ReportMetric(float64(c.reads.Load()-reads)/n, "reads/renewal")
			b.ReportMetric(0, "ns/op")
			if err := l.Shutdown(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
