package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// A node that is restored twice keeps out of both stretches that lie ahead and are used
// up: of the fast clock, and of the holder that came after it. The first is forgotten
// only where the floor is above it.
func TestRestoreTwice(t *testing.T) {
	const from = 10_000 // first tick of the fast clock's grant
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name               string
		first, after       int64 // the grant that came after the first restore
		now                int64 // at the second
		floor, skip, until int64 // as it then stands; skip 0 where it has to be refused
	}{
		{"right after the first", 12_000, 13_000, 500, 100, from, 13_000},
		{"further ahead", 20_000, 21_000, 500, 0, 0, 0},
		{"further ahead, and the first is in the past", 20_000, 21_000, 15_000, 12_000, 20_000, 21_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, st := context.Background(), lease.NewMemory()
			ns, err := lease.CreateNamespace(ctx, st, "n", s, nil)
			if err != nil {
				t.Fatal(err)
			}
			// As it stands after the first restore, and after a grant that left out what
			// lies between.
			r := lease.Record{
				Key: lease.Key{Namespace: "n", Node: 7}, Nonce: "x", Revision: 3, Generation: ns.Generation,
				PrevUntil: 100, SkipFrom: from, SkipUntil: 12_000, From: c.first, Until: c.after, Holder: "h",
			}
			if err := st.Swap(ctx, []lease.Write{{Old: "", New: r}})[0]; err != nil {
				t.Fatal(err)
			}
			got, err := lease.RestoreNode(ctx, st, "n", 7, s.Layout().TimeOf(c.now).Add(time.Microsecond))
			if c.skip == 0 {
				if err == nil {
					t.Fatalf("restored, as %+v: the stretch to 12000 is used up and ahead", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Until != c.floor || got.SkipFrom != c.skip || got.SkipUntil != c.until {
				t.Errorf("floor %d, skipped %d to %d; want %d, and %d to %d", got.Until, got.SkipFrom, got.SkipUntil,
					c.floor, c.skip, c.until)
			}
		})
	}
}
