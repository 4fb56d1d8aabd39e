package clib

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func newLibrary() *Library { return NewLibrary(make([]uint64, 8)) }

// opened returns a library with a handle on node 1.
func opened(t *testing.T, options string) (*Library, Handle) {
	t.Helper()
	l := newLibrary()
	h, err := l.OpenStatic("", 1, options)
	wantStatus(t, err, OK)
	return l, h
}

// wantStatus fails unless an error has a status.
func wantStatus(t *testing.T, err error, want Status) {
	t.Helper()
	if got := StatusOf(err); got != want {
		t.Errorf("status %d, want %d: %v", got, want, err)
	}
}

func TestHandles(t *testing.T) {
	l := newLibrary()
	_, err := l.Next(0)
	wantStatus(t, err, Invalid)
	_, err = l.Next(magic<<48 | 1<<16 | 1) // nothing was opened
	wantStatus(t, err, Invalid)
	a, err := l.OpenStatic("", 1, "")
	wantStatus(t, err, OK)
	first, err := l.Next(a)
	wantStatus(t, err, OK)
	for _, foreign := range []Handle{a &^ (magic << 48), a + 1<<16, a | sequenceOf, 0x7f0012345678, 1, ^Handle(0)} {
		_, err = l.Next(foreign)
		wantStatus(t, err, Invalid)
		wantStatus(t, l.Close(foreign), Invalid)
	}
	_, err = l.NextNumber(a)
	wantStatus(t, err, Invalid)
	wantStatus(t, l.Close(a), OK)
	wantStatus(t, l.Close(a), Closed)
	_, err = l.Next(a)
	wantStatus(t, err, Closed)
	b, err := l.OpenStatic("", 1, "") // in the same slot
	wantStatus(t, err, OK)
	if a&0x7fff != b&0x7fff {
		t.Errorf("handles %#x and %#x have different slots", a, b)
	}
	_, err = l.Next(a)
	wantStatus(t, err, Closed)
	wantStatus(t, l.Close(a), Closed)
	second, err := l.Next(b)
	if err != nil || second <= first {
		t.Errorf("the number that was opened again made %d after %d: %v", second, first, err)
	}
}

func TestTooManyHandles(t *testing.T) {
	l := newLibrary()
	var handles []Handle
	for node := range int64(7) {
		h, err := l.OpenStatic("", node, "")
		wantStatus(t, err, OK)
		handles = append(handles, h)
	}
	_, err := l.OpenStatic("", 7, "")
	wantStatus(t, err, TooMany)
	wantStatus(t, l.Close(handles[3]), OK)
	_, err = l.OpenStatic("", 7, "")
	wantStatus(t, err, OK)
}

func TestTheSameNumberTwiceInOneProcess(t *testing.T) {
	l, h := opened(t, "")
	_, err := l.OpenStatic("default", 1, "")
	wantStatus(t, err, Taken)
	wantStatus(t, tests.ErrOf(l.OpenStatic("time=42,node=10,seq=11", 1, "")), OK) // other IDs
	wantStatus(t, tests.ErrOf(l.OpenStatic("", 1<<20, "")), Invalid)
	twitter := must(l.OpenStatic("twitter", 5, ""))
	wantStatus(t, l.Close(twitter), OK)
	halved := "time=41,node=9,seq=13,epoch=2010-11-04T01:42:54.657Z"
	_, err = l.OpenStatic("bwmarrin", 5, "")
	wantStatus(t, err, Taken)
	says(t, err, "both can make one ID", "")
	wantStatus(t, tests.ErrOf(l.OpenStatic(halved, 2, "")), Taken)
	must(l.OpenStatic(halved, 3, ""))
	must(l.OpenStatic("leaf", 4, ""))
	must(l.OpenStatic("twitter", 5, ""))
	for spec, node := range map[string]int64{
		"twitter": 9, "discord": 5, // another epoch, another tick, another place of the time
		"time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=2ms": 5,
		"time=40,node=10,seq=13,epoch=2010-11-04T01:42:54.657Z":          2,
	} {
		h, err := l.OpenStatic(spec, node, "")
		wantStatus(t, err, OK)
		wantStatus(t, l.Close(h), OK)
	}

	path := filepath.Join(t.TempDir(), "node")
	f, err := l.OpenStateFile(path, "", 5, "")
	wantStatus(t, err, OK)
	wantStatus(t, tests.ErrOf(l.OpenStateFile(path, "", 5, "")), Taken)
	wantStatus(t, l.Close(f), OK)
	f, err = l.OpenStateFile(path, "", 5, "slice=0-63")
	wantStatus(t, err, OK)
	wantStatus(t, tests.ErrOf(l.Next(f)), OK)
	wantStatus(t, l.Close(f), OK)
	wantStatus(t, l.Close(h), OK)
	wantStatus(t, tests.ErrOf(l.OpenStatic("", 1, "")), OK)
}

// Close raises the beat, so that what rings hold is dropped; a ring that
// reads the beat from then on gets nothing.
func TestCloseRaisesTheBeat(t *testing.T) {
	l, h := opened(t, "")
	word := &l.words[h&0x7fff]
	before := atomic.LoadUint64(word)
	wantStatus(t, l.Close(h), OK)
	if before == 0 || atomic.LoadUint64(word) == before {
		t.Errorf("the beat was %d and is %d", before, *word)
	}
	if _, err := l.Take(h, make([]snowfence.ID, 10)); StatusOf(err) != Closed {
		t.Errorf("a closed handle: %v", err)
	}
}

// A forked child reads 0 as the beat of every ring, so the beat of a ring
// in the parent must never be 0. The first ring of the first handle is the
// hardest: a grant of node 0 has only zeros.
func TestTheBeatIsNeverZero(t *testing.T) {
	for node := range int64(2) {
		l := newLibrary()
		h, err := l.OpenStatic("", node, "")
		wantStatus(t, err, OK)
		if atomic.LoadUint64(&l.words[h&0x7fff]) == 0 {
			t.Errorf("node %d: the beat is 0", node)
		}
	}
}

// rises waits until a beat is another one than seen, for as long as a busy
// machine may need.
func rises(word *uint64, seen uint64) bool {
	for start := time.Now(); time.Since(start) < 40*time.Second; time.Sleep(time.Millisecond) {
		if atomic.LoadUint64(word) != seen {
			return true
		}
	}
	return false
}

// What was taken is dropped soon: the beat rises by itself after each take,
// however long ago the last one was.
func TestTheBeatRisesAfterTakes(t *testing.T) {
	l, h := opened(t, "")
	word := &l.words[h&0x7fff]
	for range 3 {
		seen := atomic.LoadUint64(word)
		ids := make([]snowfence.ID, 100)
		n, err := l.Take(h, ids)
		if err != nil || n == 0 {
			t.Fatalf("%d IDs, %v", n, err)
		}
		if !rises(word, seen) {
			t.Fatal("the beat did not rise")
		}
	}
}

// Threads take at the same time, some while the beat rises: after each take
// it rises.
func TestTheBeatMissesNoTake(t *testing.T) {
	l, h := opened(t, "lead=1000")
	word := &l.words[h&0x7fff]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				time.Sleep(time.Duration(i*7) * time.Millisecond)
				seen := atomic.LoadUint64(word)
				if _, err := l.Take(h, make([]snowfence.ID, 16)); err != nil {
					t.Error(err)
					return
				}
				if !rises(word, seen) {
					t.Error("the beat did not rise")
					return
				}
			}
		})
	}
	wg.Wait()
}

// Between the moment at which close marks a handle and the seal of its
// generator, a ring that reads the new beat gets nothing.
func TestAClosingHandleMakesNothing(t *testing.T) {
	l, h := opened(t, "")
	l.slots[h&0x7fff].Load().closed.Store(true)
	n, err := l.Take(h, make([]snowfence.ID, 10))
	wantStatus(t, err, Closed)
	if n != 0 {
		t.Errorf("%d IDs", n)
	}
}

// A handle is closed once, by one of all who try.
func TestCloseOnce(t *testing.T) {
	l := newLibrary()
	for range 2000 {
		h, err := l.OpenStatic("", 1, "")
		wantStatus(t, err, OK)
		var ready, closed atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for ready.Add(1); ready.Load() < 2; {
					runtime.Gosched()
				}
				if err := l.Close(h); err == nil {
					closed.Add(1)
				} else {
					wantStatus(t, err, Closed)
				}
			})
		}
		wg.Wait()
		if closed.Load() != 1 {
			t.Fatalf("%d calls closed it", closed.Load())
		}
	}
}

// A layout of few IDs: what a ring takes needs no waiting after the first
// one.
func TestTakeWaitsForOneID(t *testing.T) {
	l := newLibrary()
	h, err := l.OpenStatic("time=41,node=20,seq=2,tick=20ms,epoch=2025-01-01T00:00:00Z", 1, "")
	wantStatus(t, err, OK)
	ids := make([]snowfence.ID, 1000)
	var last snowfence.ID
	for range 5 {
		n, err := l.Take(h, ids)
		if err != nil || n < 1 || n > 8 {
			t.Fatalf("%d IDs at once, %v", n, err)
		}
		for _, id := range ids[:n] {
			if id <= last {
				t.Errorf("%d after %d", id, last)
			}
			last = id
		}
	}
}

// lossy is a fence that loses its grant on demand.
type lossy struct {
	snowfence.Fence
	seal func() int64
}

func (f *lossy) Bind(seal func() int64) (func(), error) {
	f.seal = seal
	return func() {}, nil
}

// When a fence takes its grant back, the generator is sealed first and the
// beat rises then: a ring that refilled in between holds nothing.
func TestLossRaisesTheBeatAfterTheSeal(t *testing.T) {
	l := newLibrary()
	s := must(snowfence.NewScheme(snowfence.Default()))
	f := &lossy{Fence: snowfence.Unguarded(s, 1)}
	var word uint64
	var atSeal uint64
	w := &watched{Fence: f, beat: &beat{word: &word}}
	must(w.Bind(func() int64 { atSeal = atomic.LoadUint64(&word); return 7 }))
	before := word
	if used := f.seal(); used != 7 || atSeal != before || word == before {
		t.Errorf("seal returned %d; the beat was %d, %d at the seal, %d after it", used, before, atSeal, word)
	}
	h, err := l.startGenerator(f, &options{maxWait: -1}, func() error { return nil })
	wantStatus(t, err, OK)
	seen := l.words[h&0x7fff]
	f.seal()
	if l.words[h&0x7fff] == seen {
		t.Error("the beat did not rise")
	}
}

// The beat rises when a fence grants something else, and not when it
// renews.
func TestAnotherGrantRaisesTheBeat(t *testing.T) {
	var word uint64
	f := &granting{grant: snowfence.Grant{Node: 1, From: 10, Until: 20}}
	w := &watched{Fence: f, beat: &beat{word: &word}}
	for i, step := range []struct {
		change func(g *snowfence.Grant)
		rises  bool
	}{
		{func(*snowfence.Grant) {}, true},
		{func(g *snowfence.Grant) { g.Until = 30 }, false},
		{func(g *snowfence.Grant) { g.From = 25 }, true},
		{func(g *snowfence.Grant) { g.Node = 2 }, true},
		{func(g *snowfence.Grant) { g.LastSeq = 9 }, true},
		{func(*snowfence.Grant) {}, false},
	} {
		step.change(&f.grant)
		before := word
		if i%2 == 0 {
			w.Held(0)
		} else if _, err := w.Grant(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if (word != before) != step.rises {
			t.Errorf("step %d: the beat was %d and is %d", i, before, word)
		}
	}
}

type granting struct {
	snowfence.Fence
	grant snowfence.Grant
}

func (f *granting) Held(int64) (snowfence.Grant, bool) { return f.grant, true }

func (f *granting) Grant(context.Context, int64) (snowfence.Grant, error) { return f.grant, nil }

func TestOptions(t *testing.T) {
	o, err := parseOptions("lead=2000,coarse=1,label=web-1,max-wait=0s,ttl=1s,within=3-5,"+
		"layout=time=41,node=10,seq=12,tick=1ms,guard=0,secret-file=a,secret-file=b", onStore)
	noError(t, err)
	if o.lead != 2000 || !o.coarse || o.lease.Label != "web-1" || o.maxWait != -1 || o.lease.TTL != time.Second ||
		o.lease.within != "3-5" || o.layout != "time=41,node=10,seq=12,tick=1ms" ||
		len(o.secrets) != 2 || o.lease.Node != nil {
		t.Errorf("%+v", o)
	}
	o, err = parseOptions("within=datacenter=3,lead=1", onStore)
	if err != nil || o.lease.within != "datacenter=3" || o.lead != 1 {
		t.Errorf("a part of the node: %+v, %v", o, err)
	}
	const spec = "time=41,node=10,seq=12"
	for _, text := range []string{
		"node=7,layout=twitter", "layout=twitter,node=7", "node=7,layout=" + spec, "layout=" + spec + ",node=7",
		"layout=time=41,region=5,rack=5,seq=12,lead=0,node=7",
	} {
		o, err := parseOptions(text, onStore)
		if err != nil || o.lease.Node == nil || *o.lease.Node != 7 {
			t.Errorf("%s: %+v, %v", text, o, err)
			continue
		}
		tests.WantErr(t, tests.ErrOf(snowfence.ParseLayout(o.layout)), nil, "%s: layout %s", text, o.layout)
	}
	for text, want := range map[string]string{
		"lead":          "has no value",
		"lead=":         "has no value",
		"lead=x":        "it is a number of ticks",
		"lead=-1":       "0 or more",
		"leed=1":        "there are block, coarse, guard",
		"slice=1-2":     "not known here",
		"lead=1,lead=2": "given twice",
		"coarse=yes":    "1 or 0",
		"max-wait=5":    "such as 5s",
		"block=x":       "power of two",
	} {
		_, err := parseOptions(text, onStore)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		wantStatus(t, err, Invalid)
	}
}

func TestSecrets(t *testing.T) {
	l := newLibrary()
	_, err := l.OpenStatic("randflake", 1, "")
	wantStatus(t, err, Invalid)
	says(t, err, "secret-file=FILE", "")
	path := filepath.Join(t.TempDir(), "key")
	secret := snowfence.GenerateSecret()
	noError(t, os.WriteFile(path, secret.AppendSecret(nil), 0o600))
	h, err := l.OpenStatic("randflake", 1, "secret-file="+path)
	wantStatus(t, err, OK)
	ids := make([]snowfence.ID, 50)
	n, err := l.Take(h, ids)
	wantStatus(t, err, OK)
	for _, id := range ids[:n] {
		if p, err := l.Decode(h, id); err != nil || p.Node != 1 {
			t.Errorf("%d: %+v, %v", id, p, err)
		}
	}
	const keyed = "key=3,time=40,node=10,seq=10,cipher=ff1"
	open := func(spec string, node int64) (Handle, error) { return l.OpenStatic(spec, node, "secret-file="+path) }
	must(open("randflake", 2))
	must(open(keyed, 3))
	must(open(keyed, 4))
	secret = snowfence.GenerateSecret()
	noError(t, os.WriteFile(path, secret.AppendSecret(nil), 0o600))
	refused := func(_ Handle, err error) {
		t.Helper()
		wantStatus(t, err, Taken)
		says(t, err, "nothing can be proven of encrypted IDs", "")
	}
	refused(open("randflake", 1))
	refused(open("randflake", 9)) // two secrets make one ID of two numbers
	refused(open(keyed, 3))
	refused(open(keyed, 9))
	refused(l.OpenStatic("time=40,node=10,seq=10", 9, "")) // an encrypted ID is any number
	var texts Texts
	_, err = texts.Decode("randflake", ids[0])
	wantStatus(t, err, Invalid)
}

func TestTexts(t *testing.T) {
	var texts Texts
	buf := make([]byte, 80)
	for _, e := range snowfence.Encodings() {
		for _, e := range []snowfence.Encoding{e, e.Fixed()} {
			for _, id := range []snowfence.ID{0, 1, 1<<63 - 1, 123456789012345678} {
				n, err := texts.Format(id, e.Name(), buf)
				if err != nil || string(buf[:n]) != e.Encode(id) || buf[n] != 0 {
					t.Errorf("%s: %q, %v", e.Name(), buf[:n], err)
				}
				if back, err := texts.Parse(string(buf[:n]), e.Name()); err != nil || back != id {
					t.Errorf("%s: %d, %v", e.Name(), back, err)
				}
				short, err := texts.Format(id, e.Name(), buf[:n])
				wantStatus(t, err, TooSmall)
				if short != n {
					t.Errorf("%s: length %d, want %d", e.Name(), short, n)
				}
			}
		}
	}
	_, err := texts.Format(1, "base99", buf)
	wantStatus(t, err, Invalid)
	wantStatus(t, tests.ErrOf(texts.Parse("x", "")), Invalid)
	wantStatus(t, tests.ErrOf(texts.Decode("nothing", 1)), Invalid)
	if p, err := texts.Decode("twitter", 1<<22|3); err != nil || p.Tick != 1 || p.Sequence != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestStores(t *testing.T) {
	l := newLibrary()
	path := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	h, err := l.Open(path, "", "label=web-1")
	wantStatus(t, err, OK)
	ids := make([]snowfence.ID, 5000)
	n, err := l.Fill(h, ids)
	if err != nil || n != len(ids) {
		t.Errorf("%d IDs, %v", n, err)
	}
	wantStatus(t, l.Close(h), OK)
	wantStatus(t, tests.ErrOf(l.Open("nothing:x", "", "")), Invalid)
	wantStatus(t, tests.ErrOf(l.Open(path, "", "layout=twitter")), Invalid)
	wantStatus(t, tests.ErrOf(l.Open("sqlite:/nowhere/ids.db", "", "")), Store)
	wantStatus(t, tests.ErrOf(l.OpenSequence(path, "bills")), Invalid)
	for within, want := range map[string]Status{"datacenter=3": OK, "datacenter=32": Invalid, "5-3": Invalid} {
		h, err := l.Open(path, "zones", "layout=twitter,within="+within)
		wantStatus(t, err, want)
		if err != nil {
			continue
		}
		id, err := l.Next(h)
		wantStatus(t, err, OK)
		if p, err := l.Decode(h, id); err != nil || p.Node>>5 != 3 {
			t.Errorf("%+v, %v", p, err)
		}
		wantStatus(t, l.Close(h), OK)
	}
	h, err = l.Open(path, "small", "layout=time=41,node=1,seq=12,node=1,ttl=10s")
	wantStatus(t, err, OK)
	id, err := l.Next(h)
	wantStatus(t, err, OK)
	if p, err := l.Decode(h, id); err != nil || p.Node != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	wantStatus(t, l.Close(h), OK)
}

// The header and the Go part have the same numbers.
func TestHeaderHasTheStatuses(t *testing.T) {
	text := must(os.ReadFile("../../libsnowfence/c/snowfence.h"))
	for name, status := range map[string]Status{
		"OK": OK, "FENCED": Fenced, "EXHAUSTED": Exhausted, "LIFETIME": Lifetime, "INVALID": Invalid, "CLOSED": Closed,
		"STORE": Store, "TAKEN": Taken, "TOO_SMALL": TooSmall, "TOO_MANY": TooMany, "ENDED": Ended,
		"ROLLED_BACK": RolledBack, "INTERNAL": Internal,
	} {
		if !regexp.MustCompile(fmt.Sprintf(`\bSNOWFENCE_%s = %d\b`, name, status)).Match(text) {
			t.Errorf("snowfence.h has no SNOWFENCE_%s = %d", name, status)
		}
	}
	for _, option := range optionTable {
		if option.name != "guard" && option.name != "slice" && !strings.Contains(string(text), "\t"+option.name+"=") {
			t.Errorf("snowfence.h does not explain the option %s", option.name)
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// says reports an error without a text, and a call without an error.
var says = tests.Says
