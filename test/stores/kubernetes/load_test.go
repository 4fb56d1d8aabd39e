package kubernetes

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// Ten thousand holders of nodes cost the API server next to nothing: a
// server leases units of 1,024 nodes, and sublets them from memory. While
// all holders renew twice, the API server gets fewer requests than there
// are holders. The log has the figures of docs/operate/kubernetes.md.
func TestTenThousandHolders(t *testing.T) {
	servers.Later(t)
	const holders, namespace = 10_000, "fleet"
	k := servers.StartKubernetes(t)
	s := fleet.Scheme(t, "randflake-raw") // it has 131,072 nodes
	cluster := k.NewNamespace(t)
	namespaces := scope.Namespaces(open(t, config(t, k, "admin", cluster)))
	o := &scope.NamespaceOptions{Unit: 1024, MaxTTL: time.Minute}
	must(t, tests.ErrOf(namespaces.Create(t.Context(), namespace, s, o)))
	server, address := servers.Serve(t, k.URL(t, k.Address(), cluster)+"&timeout=20s")
	c, err := remote.Dial([]string{"http://" + address}, nil)
	must(t, err)
	defer c.Close()
	var all []*lease.Lease
	began := time.Now()
	fleet.Eventually(t, "the leases", func() (err error) { // a busy machine answers late
		all, err = c.Leases(t.Context(), namespace, s, holders, &lease.Options{TTL: time.Minute, Label: "holder"})
		return err
	})
	t.Logf("%d leases were opened in %v", holders, time.Since(began).Round(time.Second/10))
	defer func() { _ = lease.ShutdownAll(t.Context(), all) }() // a busy server lets some run out
	nodes, renewals, last := map[int64]bool{}, make([]int, holders), make([]time.Time, holders)
	for i, l := range all {
		g := l.Status()
		nodes[g.Grant.Node], last[i] = true, g.Renewed
	}
	if len(nodes) != holders {
		t.Fatalf("%d holders have %d nodes", holders, len(nodes))
	}
	began = time.Now()
	asked, used := requests(t, k), [3]float64{ticks(t, k.Pid()), ticks(t, k.Etcd.Pid()), ticks(t, server.Pid())}
	fleet.Eventually(t, "each holder renews twice", func() error {
		missing := 0
		for i, l := range all {
			st := l.Status()
			if !st.Held {
				t.Fatalf("holder %d has lost its node: %v", i, st.Trouble)
			}
			if st.Renewed.After(last[i]) {
				last[i] = st.Renewed
				renewals[i]++
			}
			if renewals[i] < 2 {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of them have not yet", missing)
		}
		return nil
	})
	seconds, total := time.Since(began).Seconds(), 0
	for _, n := range renewals {
		total += n
	}
	asked = requests(t, k) - asked
	t.Logf("%d renewals in %.1f s; the API server got %.1f requests a second, and used %.1f %% of a core, its etcd "+
		"%.1f %%, the server %.1f %%", total, seconds, float64(asked)/seconds, (ticks(t, k.Pid())-used[0])/seconds/10,
		(ticks(t, k.Etcd.Pid())-used[1])/seconds/10, (ticks(t, server.Pid())-used[2])/seconds/10)
	if asked >= holders {
		t.Errorf("%d requests for %d renewals", asked, total)
	}
}

// requests is the number of requests about Lease objects that the API
// server has answered. It includes the server's own.
func requests(t *testing.T, k *servers.Kubernetes) (n int) {
	t.Helper()
	var text bytes.Buffer
	must(t, k.Ask("GET", "/metrics", "", &text))
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if strings.HasPrefix(name, "apiserver_request_total{") && strings.Contains(name, `resource="leases"`) {
			count, err := strconv.ParseFloat(value, 64)
			must(t, err)
			n += int(count)
		}
	}
	if n == 0 {
		t.Fatal("the API server counts no requests about Lease objects")
	}
	return n
}

// BenchmarkRenewal does what a lease does at each renewal, and prints how
// much processor time the API server and its etcd need for it.
func BenchmarkRenewal(b *testing.B) {
	k := servers.StartKubernetes(b)
	st := open(b, config(b, k, "admin", k.NewNamespace(b)))
	r := store.Record{Key: store.Key{Namespace: "default", Node: 1}, Label: "pod", Holder: "h"}
	head := []store.Key{{Namespace: "default", Node: store.NamespaceNode}}
	before := [2]float64{ticks(b, k.Pid()), ticks(b, k.Etcd.Pid())}
	for i := 0; b.Loop(); i++ {
		old := r.Nonce
		r.Nonce = strconv.Itoa(i)
		kinds.Put(b, st, store.Write{Old: old, New: r})
		if _, _, err := st.Get(b.Context(), head); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((ticks(b, k.Pid())-before[0])/float64(b.N), "api-ms/op")
	b.ReportMetric((ticks(b, k.Etcd.Pid())-before[1])/float64(b.N), "etcd-ms/op")
}

// ticks returns the milliseconds of processor time that a process used,
// from Linux's proc(5).
func ticks(b testing.TB, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(b, err)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, err1 := strconv.Atoi(string(fields[11]))
	system, err2 := strconv.Atoi(string(fields[12]))
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return float64(user+system) * 10 // a tick is 10 ms
}
