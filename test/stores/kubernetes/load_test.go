package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

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
