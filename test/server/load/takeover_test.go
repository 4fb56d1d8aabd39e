package load

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestTakeOver has 200 holders make IDs while the server that they renew through is
// killed and the other one takes over, twice. All of them go on, and no ID comes twice.
func TestTakeOver(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			p := start(t, k.url(t), snowfence.MustLayout("twitter"))
			const holders = 200
			leases, err := p.client.Leases(t.Context(), namespace, p.scheme, holders,
				&lease.Options{TTL: 9 * time.Second, Label: "holder"})
			if err != nil {
				t.Fatal(err)
			}
			gens := make([]*snowfence.Generator, holders)
			for i, l := range leases {
				if gens[i], err = snowfence.New(snowfence.Config{Fence: l, MaxWait: fleet.Patience()}); err != nil {
					t.Fatal(err)
				}
			}
			var ids []snowfence.ID
			// went makes IDs until every holder was renewed since a moment, and made one
			// after that.
			went := func(since time.Time) {
				t.Helper()
				on := make([]bool, holders)
				for left := holders; left > 0; {
					if time.Since(since) > fleet.Patience() {
						t.Fatalf("%d holders of %d did not go on within %v", left, holders, fleet.Patience())
					}
					for i, g := range gens {
						renewed := leases[i].Status().Renewed.After(since)
						for range 5 {
							id, err := g.TryNext()
							if errors.Is(err, snowfence.ErrFenced) || errors.Is(err, snowfence.ErrExhausted) {
								break // its grant ended, or this millisecond's numbers
							}
							if err != nil {
								t.Fatal(err)
							}
							ids = append(ids, id)
							if renewed && !on[i] {
								on[i] = true
								left--
							}
						}
					}
					time.Sleep(5 * time.Millisecond) // not to fill the memory
				}
			}
			went(time.Now())
			p.servers[0].Kill()
			went(time.Now())
			p.servers[0].Restart(t)
			p.ready(t, 0)
			p.servers[1].Kill()
			went(time.Now())
			for _, g := range gens {
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := lease.ShutdownAll(t.Context(), leases); err != nil {
				t.Error(err)
			}
			slices.Sort(ids)
			for i := 1; i < len(ids); i++ {
				if ids[i] == ids[i-1] {
					t.Fatalf("%d came twice", ids[i])
				}
			}
			t.Logf("%d IDs", len(ids))
		})
	}
}
