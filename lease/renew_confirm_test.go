package lease

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// The highest tick that any grant reached is remembered over grants that reach less far.
func TestKnownTicksNeverFall(t *testing.T) {
	g := holding(t)
	top := g.c.reached + 100
	for _, c := range []struct{ until, known int64 }{{top, top}, {top - 1, top}, {top + 1, top + 1}} {
		g.c.held.until = 0 // as of another grant
		grant, err := g.c.confirm(t.Context(), c.until, g.now.Add(time.Second))
		if err != nil || grant.Until != c.until || g.c.reached != c.known {
			t.Errorf("%+v: %+v, known %d, %v", c, grant, g.c.reached, err)
		}
	}
}

// A loss is judged by what stood there when it was met. What others write until the next
// acquisition hides no rollback.
func TestRollbackThatOthersHide(t *testing.T) {
	g := holding(t)
	g.c.held.unanswered["a write of ours"] = true
	r := g.record(5)
	lostAt, old := r.Revision, r.Nonce
	r.Nonce, r.Revision = "restored", lostAt-1
	g.must(g.st.Memory.Swap(t.Context(), []store.Write{{Old: old, New: r}})[0])
	if _, err := g.c.renew(t.Context()); !isLost(err) {
		t.Fatal(err)
	}
	r.Nonce, r.Revision = "a successor", lostAt+5
	g.must(g.st.Memory.Swap(t.Context(), []store.Write{{Old: "restored", New: r}})[0])
	g.must(g.c.diagnose(t.Context()))
	if g.c.suspect == nil {
		t.Error("no suspicion that the store rolled back")
	}
}
