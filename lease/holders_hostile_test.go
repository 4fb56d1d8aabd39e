package lease_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// liar is a client of a server that may write leases, and writes what it likes.
type liar struct {
	t      *testing.T
	raw    *elsewhere
	st     lease.Store // over Holders
	scheme *snowfence.Scheme
	now    time.Time // by the server's clock
	secret string
	writes int
}

// elsewhere is a store that can become another one, or go back.
type elsewhere struct {
	*lease.Memory
	id string
}

func (e *elsewhere) Identity(context.Context, string) (string, error) { return e.id, nil }

// newLiar returns a client of a server over a store with
// the namespace n. Its longest ttl and skew are a minute.
func newLiar(t *testing.T) *liar {
	t.Helper()
	x := &liar{
		t: t, raw: &elsewhere{lease.NewMemory(), "one"}, scheme: thousand(t),
		now: time.Now().Truncate(time.Millisecond), secret: "mine",
	}
	x.st = lease.Holders(x.raw, func() time.Time { return x.now })
	if _, err := lease.CreateNamespace(t.Context(), x.raw, "n", x.scheme, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.ask(time.Minute); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *liar) read(node int64) lease.Record {
	x.t.Helper()
	rs, err := x.raw.Get(x.t.Context(), []lease.Key{{Namespace: "n", Node: node}})
	if err != nil {
		x.t.Fatal(err)
	}
	return rs[0]
}

func (x *liar) namespace() lease.Namespace {
	x.t.Helper()
	ns, err := lease.ShowNamespace(x.t.Context(), x.raw, "n")
	if err != nil {
		x.t.Fatal(err)
	}
	return ns
}

// tick returns the tick of the server's clock, and one some time later.
func (x *liar) tick(later time.Duration) int64 { return x.scheme.Layout().TickOf(x.now.Add(later)) }

func (x *liar) hash() string {
	h := sha256.Sum256([]byte(x.secret))
	return hex.EncodeToString(h[:16])
}

// next returns the write of a lease that takes a node, or renews it.
func (x *liar) next(node, until int64) lease.Write {
	x.writes++
	r := x.read(node)
	w := lease.Write{Old: r.Nonce, New: r}
	n := &w.New
	ns := x.namespace()
	floor := max(r.Until, ns.Floor)
	if r.Nonce == "" {
		n.From, n.PrevUntil = floor, floor
	}
	n.Until = until
	n.Nonce, n.Revision, n.Generation = fmt.Sprintf("%s.%d", x.hash(), x.writes), r.Revision+1, ns.Generation
	if !strings.HasPrefix(r.Holder, x.hash()) {
		n.Holder = fmt.Sprintf("%s.%d", x.hash(), floor)
	}
	n.Label, n.Data = "liar", x.secret
	return w
}

func (x *liar) swap(w lease.Write) error { return x.st.Swap(x.t.Context(), []lease.Write{w})[0] }

func (x *liar) must(w lease.Write) {
	x.t.Helper()
	if err := x.swap(w); err != nil {
		x.t.Fatal(err)
	}
}

// ask asks the server to look at the namespace, and shows records as it showed them.
func (x *liar) ask(reach time.Duration, gone ...lease.Record) error {
	type shown struct {
		Node       int64  `json:"node"`
		Nonce      string `json:"nonce"`
		Revision   int64  `json:"revision"`
		Generation int64  `json:"generation"`
		Until      int64  `json:"until"`
		MAC        string `json:"mac"`
	}
	var all []shown
	for _, r := range gone {
		all = append(all, shown{r.Node, r.Nonce, r.Revision, r.Generation, r.Until, r.Data})
	}
	data, err := json.Marshal(map[string]any{"question": map[string]any{"reach": reach, "gone": all}})
	if err != nil {
		x.t.Fatal(err)
	}
	return x.swap(lease.Write{New: lease.Record{
		Key:   lease.Key{Namespace: "n", Node: lease.NamespaceNode},
		Nonce: "q", Data: string(data),
	}})
}

// shown returns a node's record as the server shows it.
func (x *liar) shown(node int64) lease.Record {
	x.t.Helper()
	rs, err := x.st.Get(x.t.Context(), []lease.Key{{Namespace: "n", Node: node}})
	if err != nil {
		x.t.Fatal(err)
	}
	return rs[0]
}

// A server refuses what no lease writes of a node, and nothing
// else. Each write differs in one thing from an allowed one.
func TestHoldersRefuse(t *testing.T) {
	victim := func(x *liar) lease.Write { // takes node 7 from somebody who holds it, for ten more ticks
		mine := x.secret
		x.secret = "victim's"
		x.must(x.next(7, x.tick(15*time.Second)))
		x.secret = mine
		return x.next(7, x.tick(15*time.Second)+10)
	}
	own := func(x *liar) lease.Write { // gives back node 7, of which it was granted the last ten ticks
		x.must(victim(x))
		w := x.next(7, x.tick(15*time.Second))
		w.New.Holder = ""
		return w
	}
	fresh := func(x *liar) lease.Write { return x.next(8, x.tick(time.Minute)) }
	vetoed := func(x *liar) lease.Write { // says again that node 9 has no holder
		if _, err := lease.VetoNode(x.t.Context(), x.raw, "n", 9, "broken"); err != nil {
			x.t.Fatal(err)
		}
		w := x.next(9, 0)
		w.New.Holder = ""
		return w
	}
	skipped := func(x *liar) lease.Write { // node 5 has ticks that are used up
		r := x.next(5, x.tick(0)).New
		r.Data, r.Holder, r.SkipFrom, r.SkipUntil = "", "", r.Until+5, r.Until+9
		if err := x.raw.Swap(x.t.Context(), []lease.Write{{New: r}})[0]; err != nil {
			x.t.Fatal(err)
		}
		return x.next(5, r.Until+3)
	}
	// gives back node 6, of which the run began later than its own grant: it lapsed
	early := func(x *liar) lease.Write {
		x.must(x.next(6, x.tick(0)))
		w := x.next(6, x.tick(time.Minute))
		w.New.PrevUntil, w.New.From = x.tick(0), x.tick(30*time.Second)
		x.must(w)
		w = x.next(6, x.tick(30*time.Second))
		w.New.Holder = ""
		return w
	}
	raised := func(x *liar) lease.Write { // takes node 8 above a floor that was raised
		x.raise(x.tick(30 * time.Second))
		return x.next(8, x.tick(40*time.Second))
	}
	type change = func(x *liar, w *lease.Write)
	for name, c := range map[string]struct {
		write func(x *liar) lease.Write
		lie   change
	}{
		"end lowered":                    {victim, func(x *liar, w *lease.Write) { w.New.Until = x.tick(15*time.Second) - 1 }},
		"no secret":                      {victim, func(_ *liar, w *lease.Write) { w.New.Data = "" }},
		"another secret":                 {victim, func(_ *liar, w *lease.Write) { w.New.Data = "guess" }},
		"nonce of somebody else":         {victim, func(x *liar, w *lease.Write) { w.New.Nonce = x.read(7).Nonce + "1" }},
		"nonce without a name":           {victim, func(_ *liar, w *lease.Write) { w.New.Nonce = "random" }},
		"nonce that stays":               {own, func(x *liar, w *lease.Write) { w.New.Nonce = w.Old }},
		"long nonce":                     {victim, func(_ *liar, w *lease.Write) { w.New.Nonce += strings.Repeat("x", 64) }},
		"nonce with a zero":              {victim, func(_ *liar, w *lease.Write) { w.New.Nonce += "\x00" }},
		"holder of somebody else":        {victim, func(x *liar, w *lease.Write) { w.New.Holder = x.read(7).Holder }},
		"holder that says nothing":       {victim, func(x *liar, w *lease.Write) { w.New.Holder = x.hash() }},
		"holder that says too much":      {victim, func(x *liar, w *lease.Write) { w.New.Holder = fmt.Sprint(x.hash(), ".", x.read(7).Until-1) }},
		"holder of later ticks":          {victim, func(x *liar, w *lease.Write) { w.New.Holder = fmt.Sprint(x.hash(), ".", w.New.Until+1) }},
		"long holder":                    {victim, func(x *liar, w *lease.Write) { w.New.Holder = fmt.Sprintf("%s.%040d", x.hash(), x.read(7).Until) }},
		"given back for somebody else":   {victim, func(_ *liar, w *lease.Write) { w.New.Holder = "" }},
		"given back below its own":       {own, func(_ *liar, w *lease.Write) { w.New.Until-- }},
		"given back below its run":       {early, func(_ *liar, w *lease.Write) { w.New.Until-- }},
		"end ahead of the longest ttl":   {fresh, func(x *liar, w *lease.Write) { w.New.Until = x.tick(90*time.Second) + 3 }},
		"run that began later":           {victim, func(_ *liar, w *lease.Write) { w.New.From++ }},
		"run that began at the end":      {victim, func(_ *liar, w *lease.Write) { w.New.From, w.New.PrevUntil = w.New.Until, w.New.From }},
		"other run before":               {victim, func(_ *liar, w *lease.Write) { w.New.PrevUntil++ }},
		"run that begins in the old one": {victim, func(x *liar, w *lease.Write) { f := x.read(7).Until; w.New.From, w.New.PrevUntil = f-1, f }},
		"run that begins after its end":  {victim, func(x *liar, w *lease.Write) { w.New.From, w.New.PrevUntil = w.New.Until+1, x.read(7).Until }},
		"ticks used up that were not":    {fresh, func(_ *liar, w *lease.Write) { w.New.SkipFrom, w.New.SkipUntil = 1, 2 }},
		"ticks used up until then":       {fresh, func(_ *liar, w *lease.Write) { w.New.SkipUntil = 2 }},
		"ticks used up from then":        {fresh, func(_ *liar, w *lease.Write) { w.New.SkipFrom = 2 }},
		"ticks no longer used up":        {skipped, func(_ *liar, w *lease.Write) { w.New.SkipFrom, w.New.SkipUntil = 0, 0 }},
		"fewer ticks used up":            {skipped, func(_ *liar, w *lease.Write) { w.New.SkipUntil-- }},
		"later ticks used up":            {skipped, func(_ *liar, w *lease.Write) { w.New.SkipFrom++ }},
		"veto":                           {victim, func(_ *liar, w *lease.Write) { w.New.Veto = "mine" }},
		"veto lifted":                    {vetoed, func(_ *liar, w *lease.Write) { w.New.Veto = "" }},
		"vetoed node taken":              {vetoed, func(x *liar, w *lease.Write) { w.New.Holder = x.hash() + ".0" }},
		"node cleared that nobody holds": {vetoed, func(_ *liar, w *lease.Write) { w.New.Until++ }},
		"revision that stays":            {victim, func(_ *liar, w *lease.Write) { w.New.Revision-- }},
		"revision that jumps":            {victim, func(_ *liar, w *lease.Write) { w.New.Revision++ }},
		"long label":                     {victim, func(_ *liar, w *lease.Write) { w.New.Label = strings.Repeat("x", 129) }},
		"label that no database keeps":   {victim, func(_ *liar, w *lease.Write) { w.New.Label = "a\x00b" }},
		"label that is no text":          {victim, func(_ *liar, w *lease.Write) { w.New.Label = "a\xff" }},
		"node that the layout has not":   {fresh, func(_ *liar, w *lease.Write) { w.New.Node = 1024 }},
		"node below all":                 {fresh, func(_ *liar, w *lease.Write) { w.New.Node = -2 }},
		"floor ignored by the first grant": {raised, func(x *liar, w *lease.Write) {
			w.New.From, w.New.PrevUntil, w.New.Holder = x.tick(0), x.tick(0), fmt.Sprint(x.hash(), ".", x.tick(0))
		}},
		"end below the floor": {raised, func(x *liar, w *lease.Write) { w.New.Until = x.tick(29 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			x := newLiar(t)
			if w := c.write(x); x.swap(w) != nil {
				t.Errorf("without the lie: %v", x.swap(w))
			}
			x = newLiar(t)
			w := c.write(x)
			c.lie(x, &w)
			if err := x.swap(w); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%+v\n%v", w, err)
			}
		})
	}
	for name, lie := range map[string]change{
		"earlier generation": func(_ *liar, w *lease.Write) { w.New.Generation-- },
		"later generation":   func(_ *liar, w *lease.Write) { w.New.Generation++ },
		"another nonce":      func(_ *liar, w *lease.Write) { w.Old = "x" },
	} {
		x := newLiar(t)
		w := victim(x)
		lie(x, &w)
		if err := x.swap(w); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// raise raises the floor of the namespace, as widening over used numbers does.
func (x *liar) raise(floor int64) {
	x.t.Helper()
	r := x.read(lease.NamespaceNode)
	old := r.Nonce
	r.Nonce, r.Revision = "raised", r.Revision+1
	r.Data = strings.Replace(r.Data, `"floor":0`, fmt.Sprintf(`"floor":%d`, floor), 1)
	if err := x.raw.Swap(x.t.Context(), []lease.Write{{Old: old, New: r}})[0]; err != nil {
		x.t.Fatal(err)
	}
}

// Widening over numbers that are used up to a later time leaves
// leases alone: they are renewed and given back below its floor.
func TestHoldersRenewBelowARaisedFloor(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	x.raise(x.tick(time.Minute))
	w := x.next(7, x.tick(20*time.Second))
	w.New.Holder = x.read(7).Holder
	x.must(w)
	w = x.next(7, x.tick(15*time.Second))
	w.New.Holder = ""
	x.must(w)
	w = x.next(7, x.tick(70*time.Second))
	w.New.Holder = fmt.Sprint(x.hash(), ".", x.tick(20*time.Second))
	if err := x.swap(w); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("taken below the floor: %v", err)
	}
}

// When a node was written is by the server's clock, and what a holder showed is not kept.
func TestHoldersKeepTheirOwnTime(t *testing.T) {
	x := newLiar(t)
	w := x.next(7, x.tick(time.Second))
	w.New.At = 1 << 62
	x.must(w)
	if r := x.read(7); r.At != x.now.UnixMilli() || r.Data != "" {
		t.Errorf("stored: %+v", r)
	}
}

// A client with the verb store wrote the namespace's record with another identity.
// Then nobody raised the floor after a rollback. Now it can write nothing there.
func TestHolderDoesNotWriteTheNamespace(t *testing.T) {
	x := newLiar(t)
	before := x.read(lease.NamespaceNode)
	x.raw.id = "restored"
	for name, lie := range map[string]func(r *lease.Record){
		"identity": func(r *lease.Record) {
			r.Data = strings.Replace(r.Data, `"identity":"one"`, `"identity":"restored"`, 1)
		},
		"floor": func(r *lease.Record) { r.Data = strings.Replace(r.Data, `"floor":0`, `"floor":9999`, 1) },
		"longest ttl": func(r *lease.Record) {
			r.Data = strings.Replace(r.Data, `"longest_ttl":`, `"longest_ttl":172800000000000,"x":`, 1)
		},
		"keys":       func(r *lease.Record) { r.Data = strings.Replace(r.Data, `{`, `{"keys":["mine"],`, 1) },
		"layout":     func(r *lease.Record) { r.Data = strings.Replace(r.Data, "time=41", "time=42", 1) },
		"state":      func(r *lease.Record) { r.Data = strings.Replace(r.Data, `"active"`, `"deleted"`, 1) },
		"since":      func(r *lease.Record) { r.Data = strings.Replace(r.Data, `"since":1`, `"since":2`, 1) },
		"ticket key": func(r *lease.Record) { r.Data = strings.Replace(r.Data, `"ticket_key":"`, `"ticket_key":"x`, 1) },
		"no JSON":    func(r *lease.Record) { r.Data = "x" },
		"nothing":    func(*lease.Record) {},
		"a generation": func(r *lease.Record) {
			r.Generation++
		},
		"a question, too": func(r *lease.Record) { r.Data = `{"question":null,` + r.Data[1:] },
		"much evidence":   func(r *lease.Record) { r.Data = `{"question":{"gone":[{},{},{},{},{},{},{},{},{}]}}` },
	} {
		r := before
		r.Nonce, r.Revision = "mine."+name, r.Revision+1
		lie(&r)
		if err := x.swap(lease.Write{Old: before.Nonce, New: r}); !errors.Is(err, lease.ErrRefused) ||
			x.read(lease.NamespaceNode) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := lease.CreateNamespace(t.Context(), x.st, "other", x.scheme, nil)
	if !errors.Is(err, lease.ErrNoNamespace) && !errors.Is(err, lease.ErrRefused) {
		t.Errorf("a namespace was made: %v", err)
	}
	if rs, err := x.raw.Get(t.Context(), []lease.Key{{Namespace: "other", Node: lease.NamespaceNode}}); err != nil ||
		rs[0].Nonce != "" {
		t.Errorf("a namespace was made: %+v, %v", rs, err)
	}
}

// Whoever has the key that signs tickets can lower the end of
// anybody's grant. It was shown to all who may read records.
func TestHoldersSeeNoKeyOfTickets(t *testing.T) {
	x := newLiar(t)
	if !strings.Contains(x.read(lease.NamespaceNode).Data, "ticket_key") {
		t.Fatal("the namespace has no key")
	}
	k := lease.Key{Namespace: "n", Node: lease.NamespaceNode}
	rs, err := x.st.Get(t.Context(), []lease.Key{k})
	if err != nil || strings.Contains(rs[0].Data, "ticket_key") || !strings.Contains(rs[0].Data, `"layout"`) {
		t.Errorf("Get shows %s: %v", rs[0].Data, err)
	}
	rs, err = x.st.List(t.Context(), "n", snowfence.NodeRange{From: -1, Until: 11}, 1<<20)
	if err != nil || len(rs) != 1 || strings.Contains(rs[0].Data, "ticket_key") || !strings.Contains(rs[0].Data, `"layout"`) {
		t.Errorf("List shows %+v: %v", rs, err)
	}
}

// Only the server says how long leases may be. A client that set 48
// hours stopped the namespace for two days after the next rollback.
func TestHoldersBoundTheLongestTTL(t *testing.T) {
	x := newLiar(t)
	for reach, want := range map[time.Duration]bool{
		48 * time.Hour: false, 20*time.Minute + 1: false, -1: false,
		20 * time.Minute: true,
	} {
		if err := x.ask(reach); (err == nil) != want || err != nil && !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%v: %v", reach, err)
		}
	}
	if ns := x.namespace(); ns.LongestTTL != 20*time.Minute || ns.Generation != 1 || ns.Floor != 0 {
		t.Errorf("the namespace is %+v", ns)
	}
	// It grows in few steps, and never falls.
	x = newLiar(t)
	writes := x.read(lease.NamespaceNode).Revision
	for i := range time.Duration(100) {
		if err := x.ask(time.Minute + i); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.ask(time.Second); err != nil {
		t.Fatal(err)
	}
	if n := x.read(lease.NamespaceNode).Revision - writes; n != 1 || x.namespace().LongestTTL != 61*time.Second {
		t.Errorf("%d writes, and the longest ttl is %v", n, x.namespace().LongestTTL)
	}
	// A program that has the store itself may have longer ones, and then others may, too.
	l, err := lease.Open(t.Context(), x.raw, "n", x.scheme, &lease.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	l.Orphan()
	if l, err = lease.Open(t.Context(), x.st, "n", x.scheme, &lease.Options{TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	l.Orphan()
}

// In a namespace that is being changed nothing is
// written, and a question does not disturb the change.
func TestHoldersWaitForAChange(t *testing.T) {
	x := newLiar(t)
	w := x.next(7, x.tick(time.Second))
	if _, err := lease.DeleteNamespace(t.Context(), x.raw, "n"); err != nil {
		t.Fatal(err)
	}
	w.New.Generation = x.namespace().Generation
	before := x.read(lease.NamespaceNode)
	x.raw.id = "other"
	if err := x.swap(w); !errors.Is(err, lease.ErrLost) {
		t.Errorf("a node: %v", err)
	}
	if err := x.ask(2 * time.Minute); !errors.Is(err, lease.ErrLost) || x.read(lease.NamespaceNode) != before {
		t.Errorf("a question: %v", err)
	}
}

// A holder of an earlier layout is no holder of the present one: its ticks were others.
func TestHoldersOfAnEarlierLayout(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	younger := newScheme(t, "time=41,node=10,seq=12,epoch=2000-01-01,tick=1ms")
	change := lease.NamespaceChange{Scheme: younger, Force: true}
	if _, err := lease.ChangeNamespace(t.Context(), x.raw, "n", change); err != nil {
		t.Fatal(err)
	}
	ns := x.namespace()
	w := x.next(7, ns.Floor+10)
	w.New.From, w.New.PrevUntil = ns.Floor, ns.Floor
	if w.New.Holder != x.read(7).Holder {
		t.Fatal("another holder")
	}
	if err := x.swap(w); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("it goes on with ticks of the earlier layout: %v", err)
	}
	w.New.Holder = fmt.Sprint(x.hash(), ".", ns.Floor)
	x.must(w)
}
