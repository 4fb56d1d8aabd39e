package kinds

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

// A Server keeps an empty store of a test.
type Server struct {
	URL     string // of the store, as the program takes it
	Address string // of the server, which is in the URL; SQLite has none
	Port    int
	// nil for SQLite, and for what stands in for services of Amazon
	*servers.Process
}

// Start starts a server of a kind, with further settings of it, which ends
// with the test.
func Start(t testing.TB, kind string, settings ...string) Server {
	t.Helper()
	of := func(p *servers.Process, port int, url string) Server {
		return Server{url, servers.Address(port), port, p}
	}
	switch kind {
	case "SQLite":
		return Server{URL: "sqlite:" + filepath.Join(t.TempDir(), "ids.db")}
	case "PostgreSQL":
		p := servers.StartPostgres(t, settings...)
		return of(p.Process, p.Port, p.URL(p.NewDatabase(t)))
	case "MariaDB":
		m := servers.StartMariaDB(t, settings...)
		return of(m.Process, m.Port, m.URL(m.NewDatabase(t)))
	case "Redis":
		r := servers.StartRedis(t, settings...)
		return of(r.Process, r.Port, r.URL())
	case "etcd":
		e := servers.StartEtcd(t, settings...)
		return of(e.Process, e.Port, "etcd://"+servers.Address(e.Port))
	case "Kubernetes":
		k := servers.StartKubernetes(t)
		return of(k.Process, k.Port, k.URL(t, k.Address(), k.NewNamespace(t)))
	case "DynamoDB":
		address := amazon.StartDynamoDB(t)
		amazon.NewTable(t, amazon.DynamoDB(address, nil), "ids")
		return Server{URL: amazon.URL("dynamodb", "ids", address), Address: address}
	case "S3":
		address := amazon.StartS3(t)
		return Server{URL: amazon.URL("s3", amazon.Bucket+"/store", address), Address: address}
	}
	t.Fatalf("there is no kind of store called %q", kind)
	return Server{}
}

// Through is the URL of the store by another way to the server. The server
// of Kubernetes has its address in a file.
func (s Server) Through(address string) string { return strings.Replace(s.URL, s.Address, address, 1) }

// New opens the store that a URL names for a test.
func New(t testing.TB, url string) store.Store {
	t.Helper()
	st, end, err := Open(url, 0)
	must(t, err)
	t.Cleanup(func() { _ = end() }) // its server may be gone
	return st
}

// Put carries out writes, all of which must be done.
func Put(t testing.TB, st store.Store, writes ...store.Write) {
	t.Helper()
	errs, _, _ := st.Swap(t.Context(), writes)
	must(t, errs...)
}
