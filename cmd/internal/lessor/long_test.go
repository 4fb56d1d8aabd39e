package lessor_test

import (
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
)

// While the long range waits after a restore, a lessor hands out nodes of an ordinary unit. When
// the range goes on, new holders get nodes of a long one, and few units are leased in vain.
func TestUnitsAreLongAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		op := lease.Namespaces(r.st)
		o := &lease.NamespaceOptions{Long: &lease.Long{First: 32, MaxTTL: time.Hour}}
		if _, err := op.Change(t.Context(), "n", nil, o); err != nil {
			t.Fatal(err)
		}
		open := func(ctx context.Context, within snowfence.NodeRange, life string) (*lease.Sublets, error) {
			r.opened.Add(1)
			all, err := lease.Keep(ctx, lease.Serve(r.st, r.s, nil), "n", r.s, 1, &lease.Options{
				TTL: time.Hour, Nodes: 8, Within: within, Idle: -1,
			})
			if err != nil {
				return nil, err
			}
			return all[0].Sublet(&lease.SubletOptions{Life: life})
		}
		r.Lessor = lessor.New("me", open, nil, func(err error) { r.ended <- err })
		defer r.Close(t.Context())
		take := func(long bool) (renew func()) {
			t.Helper()
			a, err := r.take("x")
			if err != nil || (a.Grant.Node >= 32) != long {
				t.Fatalf("long %t: %+v, %v", long, a, err)
			}
			return func() {
				t.Helper()
				if a, err = r.Renew(t.Context(), a.Ticket, rand.Text(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		take(true)
		if _, err := op.Restored(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		renew := take(false)
		for range 58 * 12 {
			time.Sleep(5 * time.Second)
			renew()
		}
		take(false)
		if n := len(r.Units()); n != 1 {
			t.Errorf("%d units", n)
		}
		for range 5 * 12 {
			time.Sleep(5 * time.Second)
			renew()
		}
		take(true)
		opened := r.opened.Load()
		if opened < 50 || opened > 70 {
			t.Errorf("leased %d units in an hour", opened)
		}
		for range 5 * 12 {
			time.Sleep(5 * time.Second)
			renew()
		}
		if n := r.opened.Load(); n != opened {
			t.Errorf("leased %d units more", n-opened)
		}
	})
}
