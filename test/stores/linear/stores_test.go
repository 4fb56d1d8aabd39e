package linear

import (
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/link"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

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

// network is the way of clients to a server.
type network struct {
	*link.Link
	relay *relay.Relay // behind it
}

func newNetwork(t *testing.T, server string) network {
	t.Helper()
	r := relay.Start(t, server, nil, nil)
	return network{link.New(t, r.Address), r}
}

func (n network) faults() []fault {
	return []fault{
		{"connections cut", func(t *testing.T, _ *history, _ *rand.Rand) { n.Cut(t)() }},
		{"replies lost", func(t *testing.T, _ *history, rnd *rand.Rand) { n.silence(t, rnd, "downstream") }},
		{"requests lost", func(t *testing.T, _ *history, rnd *rand.Rand) { n.silence(t, rnd, "upstream") }},
	}
}

// silence drops all bytes of one direction for a moment, and then cuts the
// connections. The dropped bytes never arrive.
func (n network) silence(t *testing.T, rnd *rand.Rand, direction string) {
	t.Helper()
	hear := n.Swallow(t, direction)
	pause(rnd, 60)
	mend := n.Cut(t)
	hear()
	mend()
}

// TestStores has each server killed that can be: what it acknowledged must
// still be there. Clients have connections of their own, as processes have.
// The stand-ins of DynamoDB and S3 have their data in memory: there it is
// about what the stores make of answers that are late, lost, or of another
// write. What replicas of Redis may lose is no question of
// linearizability, but known to be lost.
func TestStores(t *testing.T) {
	for kind, settings := range map[string][]string{
		"PostgreSQL": {"recovery_init_sync_method=syncfs"}, // the whole folder otherwise, before it answers
		"MariaDB":    nil, "Redis": nil, "etcd": nil, "DynamoDB": nil, "S3": nil,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := kinds.Start(t, kind, settings...)
			n := newNetwork(t, s.Address)
			faults := n.faults()
			if s.Process != nil {
				faults = append(faults, killed(s.Process, s.Port))
			}
			check(t, subject{
				open:    func(t *testing.T) store.Store { return kinds.New(t, s.Through(n.Address)) },
				network: &n, faults: faults, early: kind == "MariaDB",
			})
		})
	}
}

// TestSQLite has clients with databases of their own over one file.
func TestSQLite(t *testing.T) {
	t.Parallel()
	s := kinds.Start(t, "SQLite")
	check(t, subject{open: func(t *testing.T) store.Store { return kinds.New(t, s.URL) }})
}

// TestKubernetes kills the API server, and its etcd, too.
func TestKubernetes(t *testing.T) {
	k := servers.StartKubernetes(t)
	t.Parallel()
	n := newNetwork(t, k.Address())
	url := k.URL(t, n.Address, k.NewNamespace(t))
	check(t, subject{
		open:   func(t *testing.T) store.Store { return kinds.New(t, url) },
		faults: append(n.faults(), killed(k.Process, k.Port), killed(k.Etcd.Process, k.Etcd.Port)),
	})
}

// TestEtcdCluster kills members of three in turn, the leader among them.
func TestEtcdCluster(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	var addresses []string
	var faults []fault
	for _, m := range servers.StartEtcdCluster(t, 3) {
		n := newNetwork(t, servers.Address(m.Port))
		addresses = append(addresses, n.Address)
		faults = append(faults, killed(m.Process, m.Port))
		faults = append(faults, n.faults()...)
	}
	url := "etcd://" + strings.Join(addresses, ",")
	check(t, subject{open: func(t *testing.T) store.Store { return kinds.New(t, url) }, faults: faults})
}
