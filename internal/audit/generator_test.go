package audit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
)

// What four goroutines make, plain and encrypted, exact and coarse, through the audit: no
// duplicate, one node, nothing foreign.
func TestAudited(t *testing.T) {
	each := int64(300_000)
	if testing.Short() {
		each = 50_000
	}
	wide, err := snowfence.ParseLayout("time=40,node=2,seq=21")
	if err != nil {
		t.Fatal(err)
	}
	encrypted := wide
	encrypted.Cipher = snowfence.SPARX
	short := wide
	short.Cipher = snowfence.FF1
	for _, l := range []snowfence.Layout{wide, encrypted, short} {
		for _, coarse := range []bool{false, true} {
			var keys []*snowfence.Secret
			if l.Cipher != snowfence.Plain {
				keys = append(keys, snowfence.GenerateSecret())
			}
			s, err := snowfence.NewScheme(l, keys...)
			if err != nil {
				t.Fatal(err)
			}
			c := snowfence.Config{Fence: snowfence.Unguarded(s, 3), Coarse: coarse, MaxWait: time.Minute}
			g, err := snowfence.New(c) // a busy machine may give it no processor for a second
			if err != nil {
				t.Fatal(err)
			}
			a, err := audit.New(audit.Options{Scheme: s})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					ids := make([]snowfence.ID, 0, each)
					for range each {
						id, err := g.Next(context.Background())
						if err != nil {
							t.Error(err)
							return
						}
						ids = append(ids, id)
					}
					mu.Lock()
					defer mu.Unlock()
					if err := a.Add(ids...); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			r, err := a.Result(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Count != 4*each || r.Distinct != r.Count || r.Duplicates.IDs != 0 {
				t.Errorf("%s, coarse %v: %d IDs, %d distinct", l, coarse, r.Count, r.Distinct)
			}
			if n := r.Fields.Nodes.Seen; n != 1 || r.Fields.Nodes.List[0].Node != 3 || r.Fields.Foreign != 0 {
				t.Errorf("%s: %d nodes, %+v", l, n, r.Fields.Nodes)
			}
			a.Close()
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
