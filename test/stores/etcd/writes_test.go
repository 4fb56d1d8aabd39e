//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

// swap makes writes, all of which must be done: again where the server of a
// busy machine gave up.
func swap(b testing.TB, st store.Store, writes []store.Write) {
	b.Helper()
	left := writes
	shared.Eventually(b, "writes", func() (failed error) {
		var again []store.Write
		results, _, _ := st.Swap(b.Context(), left)
		for i, err := range results {
			if err == nil {
				continue
			}
			rs, _, readErr := st.Get(b.Context(), []store.Key{left[i].New.Key})
			if readErr == nil && rs[0].Nonce == left[i].New.Nonce {
				continue // it was done, and no answer came
			}
			if errors.Is(err, store.ErrLost) {
				b.Fatalf("write %d of %d: %v", i, len(left), err)
			}
			failed, again = err, append(again, left[i])
		}
		left = again
		return failed
	})
}

var nonces atomic.Int64

// renew makes writes that come after others.
func renew(writes []store.Write, ticks int64) {
	for i := range writes {
		w := &writes[i]
		w.Old = w.New.Nonce
		w.New.Nonce = fmt.Sprintf("%026d", 1<<40+nonces.Add(1))
		w.New.Until += ticks
		w.New.Revision++
	}
}
