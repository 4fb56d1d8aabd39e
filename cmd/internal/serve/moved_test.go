package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// After a move the old store's servers showed no figure of a lease, so no
// alert told of it.
func TestMovedNamespaceHasNoLease(t *testing.T) {
	st, next := newStore(t), store.NewMemory()
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0"}, Options: server.Options{TTL: time.Second}}, st)
	held := func(n string) func() bool {
		return func() bool {
			_, text := get(t, "http://"+p.Admin+"/metrics", "")
			return strings.Contains(text, `snowfence_lease_held{namespace="default"} `+n+"\n")
		}
	}
	eventually(t, "a lease", held("1"))
	here, there := store.Place{Store: st, Name: "here"}, store.Place{Store: next, Name: "there"}
	noError(t, scope.Move(t.Context(), "default", here, there))
	eventually(t, "no lease", held("0"))
	noError(t, scope.Move(t.Context(), "default", there, here))
	eventually(t, "a lease, after the move was undone", held("1"))
}
