package load

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// kinds are the stores behind the servers, by what the program calls them.
var kinds = []struct {
	name string
	url  func(t testing.TB) string
}{
	{"SQLite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "ids.db") }},
	{"PostgreSQL", func(t testing.TB) string {
		p := servers.StartPostgres(t)
		return p.URL(p.NewDatabase(t))
	}},
	{"MariaDB", func(t testing.TB) string {
		m := servers.StartMariaDB(t)
		return m.URL(m.NewDatabase(t))
	}},
	{"Redis", func(t testing.TB) string { return servers.StartRedis(t).URL() }},
	{"etcd", func(t testing.TB) string { return "etcd://" + servers.Address(servers.StartEtcd(t).Port) }},
}

const namespace = "load"

// pair is two servers over one store, and a client that knows both.
type pair struct {
	servers [2]*servers.Process
	http    [2]string
	client  *remote.Client
	scheme  *snowfence.Scheme
}

// start starts both, and makes the namespace.
func start(t testing.TB, store string, l snowfence.Layout) *pair {
	t.Helper()
	p := &pair{}
	var err error
	if p.scheme, err = snowfence.NewScheme(l); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for i := range p.servers {
		p.servers[i], p.http[i] = servers.Serve(t, store)
		addresses = append(addresses, "http://"+p.http[i])
	}
	body := strings.NewReader(fmt.Sprintf(`{"layout":%q,"max_ttl":"60s"}`, p.scheme.Layout().String()))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, addresses[0]+"/v1/"+namespace, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatal("making the namespace:", res.Status)
	}
	c, err := remote.Dial(addresses, &remote.Options{Timeout: 30 * time.Second}) // a busy machine is no trouble
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	p.client = c
	return p
}
