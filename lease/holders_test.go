package lease_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/leasetest"
)

// operator lets the operator's writes of the suite pass: those of namespaces, and what the tests named below do to records by hand.
type operator struct {
	lease.Store // for holders
	raw         lease.Store

	mu      sync.Mutex
	refused []string
}

func (o *operator) Swap(ctx context.Context, writes []lease.Write) []error {
	if len(writes) == 0 || writes[0].New.Namespace != "conformance" { // tests of what a store is
		return o.raw.Swap(ctx, writes)
	}
	errs := o.Store.Swap(ctx, writes)
	for i, err := range errs {
		if errors.Is(err, lease.ErrRefused) {
			o.mu.Lock()
			o.refused = append(o.refused, err.Error())
			o.mu.Unlock()
			errs[i] = o.raw.Swap(ctx, writes[i:i+1])[0]
		}
	}
	return errs
}

// All that leases do passes: the whole suite runs over Holders, and nothing is refused but what operators do, and tests to records by hand.
func TestHoldersLetsLeasesWork(t *testing.T) {
	var mu sync.Mutex
	stores := map[string]*operator{}
	t.Run("suite", func(t *testing.T) {
		leasetest.Run(t, func(t *testing.T) lease.Store {
			m := lease.NewMemory()
			o := &operator{Store: lease.Holders(m, nil), raw: m}
			mu.Lock()
			defer mu.Unlock()
			stores[strings.TrimPrefix(t.Name(), "TestHoldersLetsLeasesWork/suite/")] = o
			return o
		})
	})
	byHand := map[string]string{
		"store_set_back":                   "does not count",
		"store_set_back_before_a_restart":  "does not count",
		"vanished_record":                  "does not count", // what lies hidden below counted already
		"vanished_everything":              "does not count", // if the free node that is found is one that vanished
		"set_back,_deleted_and_made_again": "does not count",
		"release_and_veto_by_an_operator":  "veto",
		"clock_far_ahead":                  "", // and restored by an operator
		"end_of_the_layout's_life":         "two days ahead",
	}
	for name, o := range stores {
		for _, why := range o.refused {
			if by, ok := byHand[name]; !(ok && strings.Contains(why, by)) && !strings.Contains(why, "node -1 ") {
				t.Errorf("%s: refused: %s", name, why)
			}
		}
	}
	if len(stores) < 30 {
		t.Errorf("%d tests of the suite ran", len(stores))
	}
}

// What no lease writes is refused, whoever sends it.
func TestHoldersRefuse(t *testing.T) {
	raw := lease.NewMemory()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), raw, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	st := lease.Holders(raw, nil)
	node := int64(7)
	if _, err := lease.Open(t.Context(), st, "n", s, &lease.Options{Node: &node, Label: "holder"}); err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), st, "other", s, nil); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("a namespace was made: %v", err)
	}
	read := func(node int64) lease.Record {
		rs, err := raw.Get(t.Context(), []lease.Key{{Namespace: "n", Node: node}})
		if err != nil {
			t.Fatal(err)
		}
		return rs[0]
	}
	far := s.Layout().TickOf(time.Now().Add(72 * time.Hour))
	for name, change := range map[string]func(r *lease.Record){
		"end lowered":                    func(r *lease.Record) { r.Until-- },
		"end lowered below its run":      func(r *lease.Record) { r.Until, r.Holder = r.From-1, "" },
		"holder that says nothing":       func(r *lease.Record) { r.Holder, r.Until = "me", r.Until+1 },
		"holder that says too much":      func(r *lease.Record) { r.Holder, r.Until = fmt.Sprint("me.", r.Until-1), r.Until+1 },
		"holder of later ticks":          func(r *lease.Record) { r.Holder, r.Until = fmt.Sprint("me.", r.Until+2), r.Until+1 },
		"given back by somebody else":    func(r *lease.Record) { r.Holder, r.Until = "", r.From },
		"given back with a guess":        func(r *lease.Record) { r.Holder, r.Until, r.Nonce = "", r.From, "guess.new" },
		"given back by who read the end": func(r *lease.Record) { r.Holder, r.Until, r.Nonce = "", r.From, r.Holder+".new" },
		"end far ahead":                  func(r *lease.Record) { r.Until = far },
		"run that began later":           func(r *lease.Record) { r.From++ },
		"run that began at the end":      func(r *lease.Record) { r.From, r.PrevUntil = r.Until, r.From },
		"other run before":               func(r *lease.Record) { r.PrevUntil++ },
		"ticks no longer used up":        func(r *lease.Record) { r.SkipFrom, r.SkipUntil = 1, 2 },
		"veto":                           func(r *lease.Record) { r.Veto = "mine" },
		"data":                           func(r *lease.Record) { r.Data = "x" },
		"revision that stays":            func(r *lease.Record) { r.Revision-- },
		"nonce that stays":               func(r *lease.Record) { r.Nonce = read(7).Nonce },
		"long label":                     func(r *lease.Record) { r.Label = strings.Repeat("x", 129) },
		"node that the layout has not": func(r *lease.Record) {
			*r = lease.Record{Key: lease.Key{Namespace: "n", Node: 1024}, Nonce: "x", Revision: 1, Generation: 1, Until: 5}
		},
		"floor ignored by the first grant": func(r *lease.Record) {
			*r = lease.Record{Key: lease.Key{Namespace: "n", Node: 8}, Nonce: "x", Revision: 1, Generation: 1, Until: far}
		},
	} {
		r := read(7)
		old := r.Nonce
		r.Revision++
		r.Nonce = "new"
		change(&r)
		if r.Node != 7 {
			old = ""
		}
		if err := st.Swap(t.Context(), []lease.Write{{Old: old, New: r}})[0]; !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	data := read(lease.NamespaceNode).Data
	for name, change := range map[string]func(r *lease.Record){
		"layout":                func(r *lease.Record) { r.Data = strings.Replace(data, "time=41", "time=42", 1) },
		"state":                 func(r *lease.Record) { r.Data = strings.Replace(data, `"active"`, `"deleted"`, 1) },
		"since":                 func(r *lease.Record) { r.Data = strings.Replace(data, `"since":1`, `"since":2`, 1) },
		"no JSON":               func(r *lease.Record) { r.Data = "x" },
		"two generations ahead": func(r *lease.Record) { r.Generation += 2 },
		"generation that falls": func(r *lease.Record) { r.Generation-- },
		"floor by itself":       func(r *lease.Record) { r.Data = strings.Replace(data, `"floor":0`, `"floor":5`, 1) },
		"floor far ahead": func(r *lease.Record) {
			r.Generation++
			r.Until = far
			r.Data = strings.Replace(data, `"floor":0`, `"floor":9999999999999`, 1)
		},
		"floor that is lowered": func(r *lease.Record) {
			r.Generation++
			r.Until = -1
			r.Data = strings.Replace(data, `"floor":0`, `"floor":-1`, 1)
		},
		"ttl that is forgotten":  func(r *lease.Record) { r.Data = strings.Replace(data, `"longest_ttl":`, `"longest_ttl":0,"x":`, 1) },
		"other key of tickets":   func(r *lease.Record) { r.Data = strings.Replace(data, `{`, `{"ticket_key":"mine",`, 1) },
		"nodes that can be used": func(r *lease.Record) { r.Data = strings.Replace(data, `"last":1023`, `"last":7`, 1) },
	} {
		r := read(lease.NamespaceNode)
		old := r.Nonce
		r.Revision++
		r.Nonce = "new"
		change(&r)
		if err := st.Swap(t.Context(), []lease.Write{{Old: old, New: r}})[0]; !errors.Is(err, lease.ErrRefused) {
			t.Errorf("namespace, %s: %v\n%s", name, err, r.Data)
		}
	}
	// The lease itself goes on: none of it was written.
	if r := read(7); r.Label != "holder" || r.Revision != 1 {
		t.Errorf("record %+v", r)
	}
}

// The holder itself lowers the end of its grant, time and again: each time it shows a secret of its own, and then it is another holder.
func TestHoldersLetTheHolderGiveBack(t *testing.T) {
	raw := lease.NewMemory()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), raw, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	node, seen := int64(7), map[string]bool{}
	for range 3 {
		l, err := lease.Open(t.Context(), lease.Holders(raw, nil), "n", s, &lease.Options{Node: &node, TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		read := func() lease.Record {
			rs, err := raw.Get(t.Context(), []lease.Key{{Namespace: "n", Node: node}})
			if err != nil {
				t.Fatal(err)
			}
			return rs[0]
		}
		held := read()
		if seen[held.Holder] {
			t.Errorf("%q holds again, although its secret is known", held.Holder)
		}
		seen[held.Holder] = true
		g, err := snowfence.New(snowfence.Config{Fence: l})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if back := read(); back.Holder != "" || back.Until >= held.Until {
			t.Errorf("not given back: until %d, before %d", back.Until, held.Until)
		}
	}
}

// Who takes a node from a living holder, whose run of ticks goes on, gives back what it was granted itself and nothing of what that holder still uses.
func TestHoldersKeepWhatOthersWereGranted(t *testing.T) {
	raw := lease.NewMemory()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), raw, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	st, node := lease.Holders(raw, nil), int64(7)
	if _, err := lease.Open(t.Context(), st, "n", s, &lease.Options{Node: &node}); err != nil {
		t.Fatal(err)
	}
	rs, err := raw.Get(t.Context(), []lease.Key{{Namespace: "n", Node: node}})
	if err != nil {
		t.Fatal(err)
	}
	victim := rs[0]
	hash := sha256.Sum256([]byte("secret"))
	taken := victim
	taken.Revision, taken.Nonce, taken.Until = victim.Revision+1, "taken", victim.Until+10
	taken.Holder = fmt.Sprintf("%s.%d", hex.EncodeToString(hash[:16]), victim.Until)
	if err := st.Swap(t.Context(), []lease.Write{{Old: victim.Nonce, New: taken}})[0]; err != nil {
		t.Fatal(err)
	}
	back := taken
	back.Revision, back.Nonce, back.Holder = taken.Revision+1, "secret.back", ""
	for _, until := range []int64{victim.From, victim.Until - 1} {
		back.Until = until
		if err := st.Swap(t.Context(), []lease.Write{{Old: taken.Nonce, New: back}})[0]; !errors.Is(err, lease.ErrRefused) {
			t.Errorf("lowered to %d, while %d is the end of what another one has: %v", until, victim.Until, err)
		}
	}
	back.Until = victim.Until
	if err := st.Swap(t.Context(), []lease.Write{{Old: taken.Nonce, New: back}})[0]; err != nil {
		t.Errorf("its own: %v", err)
	}
}
