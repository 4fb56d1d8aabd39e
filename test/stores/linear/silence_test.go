package linear

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// checkSilence has all connections of a store go silent. A lease whose ttl
// is long is renewed soon. Then the whole network is silent, either way,
// and every call ends by itself.
func checkSilence(t *testing.T, s subject) {
	t.Helper()
	st := s.open(t)
	scheme := fleet.Default(t)
	_, err := scope.Namespaces(st).Create(t.Context(), "silence", scheme, &scope.NamespaceOptions{MaxTTL: time.Hour})
	must(t, err)
	l, err := lease.Open(t.Context(), st, "silence", scheme, &lease.Options{TTL: time.Hour})
	must(t, err)
	if _, err := sublet.New(l, ""); err != nil { // which renews every five seconds
		t.Fatal(err)
	}
	began := time.Now()
	s.network.relay.Silence()
	fleet.Eventually(t, "a silent connection stops renewals", func() error {
		if st := l.Status(); !st.Renewed.After(began.Add(time.Second)) {
			return fmt.Errorf("renewed at %v, silent since %v: %w", st.Renewed, began, st.Trouble)
		}
		return nil
	})
	l.Orphan()
	<-l.Done()
	head := store.Key{Namespace: "silence", Node: store.NamespaceNode}
	before, reply, err := st.Get(t.Context(), []store.Key{head, {Namespace: "silence", Node: 1}})
	must(t, err)
	write := before[1]
	write.Nonce, write.Data = "silence", ""
	calls := map[string]func(ctx context.Context) error{
		"Get": func(ctx context.Context) error { _, _, err := st.Get(ctx, []store.Key{head}); return err },
		"List": func(ctx context.Context) error {
			_, _, err := st.List(ctx, "silence", snowfence.NodeRange{Until: 9}, 9)
			return err
		},
		"Heads": func(ctx context.Context) error { _, _, err := st.Heads(ctx); return err },
		"Swap": func(ctx context.Context) error {
			_, err := store.Put(ctx, st, store.Write{Old: before[1].Nonce, New: write})
			return err
		},
		"Add": func(ctx context.Context) error {
			_, _, err := store.Add(ctx, st, store.Addition{Key: head, Nonce: "x"})
			return err
		},
		"Suspect": func(ctx context.Context) error { return st.Suspect(ctx, reply.Identity) },
		"Pin": func(ctx context.Context) error {
			unpin, err := st.Pin(ctx)
			if err == nil {
				unpin()
			}
			return err
		},
	}
	for _, direction := range []string{"upstream", "downstream"} {
		hear := s.network.Swallow(t, direction)
		ended := make(chan string, len(calls))
		for name, call := range calls {
			go func() {
				if err := call(context.Background()); err == nil {
					name += ", without an error" // it needs no answer
				}
				ended <- name
			}()
		}
		var names []string
		patience := time.After(fleet.Patience())
		for range calls {
			select {
			case name := <-ended:
				names = append(names, name)
			case <-patience:
				t.Fatalf("%s is silent: only these calls end: %v", direction, names)
			}
		}
		failed := slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, ",") })
		if len(failed) < 5 {
			t.Errorf("%s is silent, and most calls succeed", direction)
		}
		mend := s.network.Cut(t) // what was swallowed never arrives
		hear()
		mend()
	}
}
