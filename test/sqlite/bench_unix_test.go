//go:build unix

package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

// BenchmarkStore does what leases do most, in a file with a few hundred records: each with the
// processor time that it takes, because the disk and other programs do not disturb that.
func BenchmarkStore(b *testing.B) {
	for _, pinned := range []bool{true, false} {
		b.Run(map[bool]string{true: "leased", false: "alone"}[pinned], func(b *testing.B) { benchmarkStore(b, pinned) })
	}
}

func benchmarkStore(b *testing.B, pinned bool) {
	db, err := sql.Open("sqlite", dsn(filepath.Join(b.TempDir(), "ids.db")))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	st, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		b.Fatal(err)
	}
	if pinned { // as while there are leases
		unpin, err := st.Pin(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer unpin()
	}
	writes := []store.Write{{New: record(store.NamespaceNode, "first")}}
	for node := range int64(499) {
		writes = append(writes, store.Write{New: record(node, "first")})
	}
	number := 0
	renew := func(b *testing.B, writes []store.Write) {
		for i, err := range st.Swap(b.Context(), writes) {
			if err != nil {
				b.Fatal(err)
			}
			number++
			writes[i].Old, writes[i].New.Nonce = writes[i].New.Nonce, fmt.Sprintf("%026d", number)
		}
	}
	get := func(b *testing.B, node int64) {
		if _, err := st.Get(b.Context(), []store.Key{{Namespace: "n", Node: node}}); err != nil {
			b.Fatal(err)
		}
		if _, err := st.Identity(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
	}
	renew(b, writes)
	get(b, 7)
	for _, of := range []struct {
		name string
		do   func(*testing.B)
	}{
		{"get", func(b *testing.B) { get(b, 7) }},
		{"renewal", func(b *testing.B) { renew(b, writes[8:9]); get(b, store.NamespaceNode) }},
		{"batch", func(b *testing.B) { renew(b, writes[1:]); get(b, store.NamespaceNode) }},
	} {
		b.Run(of.name, func(b *testing.B) {
			before := processorTime(b)
			for b.Loop() {
				of.do(b)
			}
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
