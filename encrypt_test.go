package snowfence

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The zero Secret ended the program with a nil pointer.
func TestZeroSecret(t *testing.T) {
	var none Secret
	_, sparx := NewScheme(Randflake(), &none)
	rotated := must(ParseLayout("key=2,time=41,node=6,seq=12,cipher=ff1"))
	_, first := NewScheme(rotated, &none, GenerateSecret())
	_, last := NewScheme(rotated, GenerateSecret(), &none)
	for name, err := range map[string]error{"sparx": sparx, "first of two": first, "last of two": last} {
		if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if id := none.ID(); id != "" || len(none.AppendSecret(nil)) > 0 || fmt.Sprint(&none) != redacted {
		t.Errorf("ID %q, or AppendSecret or String", id)
	}
}

// An ID of a later time or of another node does not pass.
func TestCheckTellsForgedFromReal(t *testing.T) {
	s := testScheme("randflake")
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	p := &CheckOptions{Now: now, Ahead: time.Minute, Nodes: NodeRange{From: 100, Until: 356}}
	for _, node := range []int64{100, 200, 355} {
		id := must(s.Compose(Parts{Tick: s.Layout().TickOf(now), Node: node, Sequence: 7}))
		if parts, err := s.Check(id, p); err != nil || parts.Node != node {
			t.Errorf("a real one: %+v, %v", parts, err)
		}
	}
	for _, c := range []struct{ tick, node int64 }{{s.Layout().TickOf(now) + 61, 200}, {1, 99}, {1, 356}} {
		id := must(s.Compose(Parts{Tick: c.tick, Node: c.node}))
		wantErr(t, errOf(s.Check(id, p)), ErrInvalidID, "%+v", c)
	}
}

// Snow-drift makes IDs with the numbers 1 to 4 after a step back, and
// people make some with 0. No generator makes any above the last.
func TestCheckTakesReservedNumbers(t *testing.T) {
	s := testScheme("time=51,node=6,seq=6,first=5,last=40,epoch=2020-02-20")
	for number, real := range map[int64]bool{0: true, 1: true, 4: true, 5: true, 40: true, 41: false, 63: false} {
		id := must(s.Compose(Parts{Tick: 7, Node: 3, Sequence: number}))
		if p, err := s.Check(id, nil); (err == nil) != real || real && p.Sequence != number ||
			!real && !errors.Is(err, ErrInvalidID) {
			t.Errorf("number %d: %+v, %v", number, p, err)
		}
	}
}

// IDs under different keys are never the same, exhaustively for a small
// layout (an eighth of it with -short): the number of the key stands
// outside of the cipher.
func TestRotatedKeysDoNotCollide(t *testing.T) {
	l := must(ParseLayout("key=2,time=12,node=3,seq=5,cipher=ff1"))
	var keys []*Secret
	seen := make([]bool, 1<<22)
	each := int64(1 << 20)
	if testing.Short() {
		each = 1 << 17
	}
	for n := range 3 {
		keys = append(keys, must(NewSecret([]byte{byte(n), 15: 9})))
		s := must(NewScheme(l, keys...))
		for raw := range each {
			id := must(s.Compose(Parts{Tick: raw >> 8, Node: raw >> 5 & 7, Sequence: raw & 31}))
			if id < 0 || id >= 1<<22 || seen[id] {
				t.Fatalf("key %d, raw %d: %d is there already", n, raw, id)
			}
			seen[id] = true
			if raw%1009 != 0 {
				continue
			}
			p, err := s.Decode(id)
			if err != nil || p.Tick<<8|p.Node<<5|p.Sequence != raw || p.Key != n {
				t.Fatalf("key %d, raw %d: decodes to %+v, %v", n, raw, p, err)
			}
		}
	}
	// Decode picks the key by itself, and says when it is gone.
	all, _ := NewScheme(l, keys...)
	gone, _ := NewScheme(l, nil, keys[1], keys[2])
	old, _ := NewScheme(l, keys[0])
	id := must(old.Compose(Parts{Tick: 77, Node: 5, Sequence: 3}))
	if p, err := all.Decode(id); err != nil || p.Tick != 77 || p.Key != 0 {
		t.Errorf("an old ID: %+v, %v", p, err)
	}
	if _, err := gone.Decode(id); !errors.Is(err, ErrKey) || !errors.Is(err, ErrInvalidID) {
		t.Errorf("an ID of a key that is gone: %v", err)
	}
}

// As a shard key: by remainder and by range, over 2 to 1024 shards,
// encrypted IDs spread evenly, though they are of a few milliseconds and
// one node.
func TestEncryptedIDsShardEvenly(t *testing.T) {
	s := testScheme("randflake")
	g := newGenerator(t, Config{Fence: Unguarded(s, 9), Lead: 1000})
	ids := must(takeFill(g, 1_000_000))
	for _, shards := range []uint64{2, 3, 7, 16, 100, 256, 1000, 1024} {
		byRemainder, byRange := make([]int, shards), make([]int, shards)
		for _, id := range ids {
			byRemainder[uint64(id)%shards]++
			byRange[uint64(id)/(math.MaxUint64/shards+1)]++
		}
		mean := float64(len(ids)) / float64(shards)
		for name, counts := range map[string][]int{"remainder": byRemainder, "range": byRange} {
			var chi float64
			for _, n := range counts {
				chi += (float64(n) - mean) * (float64(n) - mean) / mean
			}
			// Chi-square has mean k−1 and variance 2(k−1); the key is fixed
			// and so is the result, up to the start time.
			if k := float64(shards - 1); chi > k+8*math.Sqrt(2*k) {
				t.Errorf("%d shards by %s: chi-square %.1f, expected about %.0f", shards, name, chi, k)
			}
		}
	}
}

// The reference implementation fails after 17 of its 34 years, when the raw
// value turns negative. Here they all work.
func TestRandflakeWholeLife(t *testing.T) {
	s := testScheme("randflake")
	for _, tick := range []int64{0, 1<<29 - 1, 1 << 29, 1<<29 + 12345, s.MaxTick()} {
		id := must(s.Compose(Parts{Tick: tick, Node: 131071, Sequence: 131071}))
		if p, err := s.Decode(id); err != nil || p.Tick != tick || p.Node != 131071 || p.Sequence != 131071 {
			t.Errorf("tick %d decodes to %+v, %v", tick, p, err)
		}
	}
	if end := s.Layout().EndOfLife().Year(); end != 2058 {
		t.Errorf("life ends in %d", end)
	}
}

// Encrypted generators make what their raw ones would: decrypted, IDs are
// unique, inside the grant, and the IDs of one caller increase.
func TestEncryptedGenerator(t *testing.T) {
	specs := []string{
		"randflake", "time=40,node=2,seq=21,cipher=sparx", "twitter,cipher=ff1",
		"time=41,node=4,seq=8,cipher=ff1", "key=3,time=40,node=4,seq=6,first=5,cipher=ff1",
	}
	for _, spec := range specs {
		spec = strings.Replace(spec, "twitter", MustLayout("twitter").String(), 1)
		for _, w := range ways {
			t.Run(spec+" "+w.name, func(t *testing.T) {
				s := testScheme(spec)
				f := newScript(s, Grant{Node: 2, Until: s.MaxTick()})
				g := newGenerator(t, Config{Fence: f, Coarse: w.coarse, Lead: 100, MaxWait: time.Minute})
				ids := make([]ID, 0, 4000)
				for range 4 {
					got := must(w.take(g, 1000))
					ids = append(ids, got...)
				}
				var plain []ID
				for _, id := range ids {
					if s.Layout().Cipher == FF1 && uint64(id)>>s.Layout().Width() != 0 {
						t.Fatalf("%d is wider than the layout", id)
					}
					raw, _, err := s.decryptID(id)
					noError(t, err)
					plain = append(plain, raw)
				}
				// handles drop blocks, but each of these is one caller
				if w.name != "Local" && w.name != "LocalCoarse" {
					checkIncreasing(t, plain)
				}
				checkInside(t, s, ids, f.grants())
				checkUnique(t, ids)
			})
		}
	}
}

// Many goroutines share batches of IDs made ahead, while grants are lost
// and the generator is closed.
func TestEncryptedGoroutines(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		s := testScheme("randflake")
		fence := Unguarded(s, 3)
		var all []ID
		for range 5 {
			g := must(New(Config{Fence: fence, Coarse: coarse, Lead: 60, MaxWait: time.Minute}))
			all = append(all, runEncrypted(t, g)...)
			noError(t, g.Close())
			if id, err := g.TryNext(); !errors.Is(err, ErrClosed) {
				t.Fatalf("after Close: %d, %v", id, err)
			}
		}
		checkUnique(t, all)
	}
}

func runEncrypted(t *testing.T, g *Generator) []ID {
	t.Helper()
	done := make(chan []ID)
	for range 4 {
		go func() {
			ids, err := takeNext(g, 20000)
			noError(t, err)
			done <- ids
		}()
	}
	var all []ID
	for range 4 {
		all = append(all, <-done...)
	}
	return all
}

// Outside of its grant a Randflake generator refuses and does not wait.
func TestRandflakeRefusesOutsideItsGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=30,node=17,seq=17,epoch=1999-01-01,tick=1s,cipher=sparx")
		now := s.Layout().TickOf(time.Now())
		f := newScript(s, Grant{Node: 7, From: now + 2, Until: now + 5})
		g := newGenerator(t, Config{Fence: f, MaxWait: time.Hour})
		defer g.Close()
		start := time.Now()
		_, err := g.Next(t.Context())
		if w := isReason(t, err, ErrExhausted); !w.Behind || time.Since(start) != 0 {
			t.Errorf("before the start: %v after %v", err, time.Since(start))
		}
		time.Sleep(3 * time.Second)
		must(g.Next(t.Context()))
		time.Sleep(3 * time.Second)
		start = time.Now()
		_, err = g.Next(t.Context())
		if isReason(t, err, ErrFenced); time.Since(start) != 0 {
			t.Errorf("after the end: %v after %v", err, time.Since(start))
		}
	})
}

func TestKeysShowThemselvesNowhere(t *testing.T) {
	const secret = "dffd6021bb2bd5b0af676290809ec3a5"
	key := must(ParseSecret([]byte(secret)))
	s := must(NewScheme(Randflake(), key))
	g := newGenerator(t, Config{Fence: Unguarded(s, 1)})
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "key", key, "scheme", s, "generator", g, "value", *key)
	inside := slog.AnyValue(struct{ K *Secret }{key})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "value", *key, "any", inside)
	text, _ := json.Marshal(map[string]any{"a": key, "b": *key, "c": struct{ K Secret }{*key}})
	log.Write(text)
	for _, v := range []any{
		key, *key, &key, s, *s,
		struct{ k *Secret }{key},
		struct{ K Secret }{*key},
		[]*Secret{key},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
	}
	out := strings.ToLower(log.String())
	raw, _ := hex.DecodeString(secret)
	for _, bad := range []string{
		secret, secret[:8], secret[24:], hex.EncodeToString([]byte(secret))[:16],
		fmt.Sprint(raw)[1:20], fmt.Sprintf("%#v", raw)[8:30], string(raw[:4]),
	} {
		if strings.Contains(out, strings.ToLower(bad)) {
			t.Errorf("the secret shows as %q", bad)
		}
	}
	if string(key.AppendSecret(nil)) != secret {
		t.Error("AppendSecret is for writing the file, and does not say the secret")
	}
	for _, bad := range []string{
		"", "00", secret + "0", secret[1:], "zz" + secret[2:], strings.Repeat("x", 15),
		secret[:16],
	} {
		if _, err := ParseSecret([]byte(bad)); !errors.Is(err, ErrKey) ||
			len(bad) > 4 && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSchemesAndKeysFit(t *testing.T) {
	a, b := GenerateSecret(), GenerateSecret()
	for _, c := range []struct {
		spec string
		keys []*Secret
		want error
	}{
		{"twitter", nil, nil},
		{"twitter", []*Secret{a}, ErrKey},
		{"randflake", nil, ErrKey},
		{"randflake", []*Secret{nil}, ErrKey},
		{"randflake", []*Secret{a, b}, ErrKey},
		{"time=41,seq=12,cipher=ff1", []*Secret{a, b}, ErrKey},
		{"key=1,time=41,seq=12,cipher=ff1", []*Secret{a, b}, nil},
		{"key=1,time=41,seq=12,cipher=ff1", []*Secret{nil, b}, nil},
		{"key=1,time=41,seq=12,cipher=ff1", []*Secret{a, nil}, ErrKey},
		{"key=1,time=41,seq=12,cipher=ff1", []*Secret{a, b, a}, ErrKey},
	} {
		l := must(ParseLayout(c.spec))
		wantErr(t, errOf(NewScheme(l, c.keys...)), c.want, "%s with %d keys", c.spec, len(c.keys))
	}
	for _, spec := range []string{
		"key=1,time=41,seq=12", "key=1,time=41,seq=12,cipher=sparx",
		"time=41,key=1,seq=12,cipher=ff1", "key=9,time=10,seq=9,cipher=ff1", "time=41,seq=3,cipher=aes",
		"key=17,time=41,seq=2,cipher=ff1",
	} {
		wantErr(t, errOf(ParseLayout(spec)), ErrInvalidLayout, "%s", spec)
	}
	one, _ := NewScheme(Randflake(), a)
	two, _ := NewScheme(Randflake(), b)
	if one.Fingerprint() == two.Fingerprint() {
		t.Error("a changed secret has the same fingerprint")
	}
	if _, _, err := one.Range(time.Unix(0, 0), time.Now()); err == nil {
		t.Error("a range of encrypted IDs")
	}
}

// A second's sequence that is used up is waited for, also right after a
// renewal.
func TestRandflakeWaitsForTheNextSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=30,node=17,seq=6,epoch=1999-01-01,tick=1s,cipher=sparx")
		now := s.Layout().TickOf(time.Now())
		f := newScript(s, Grant{Node: 7, Until: now + 3})
		g := newGenerator(t, Config{Fence: f, MaxWait: 2 * time.Second})
		defer g.Close()
		var ids []ID
		for i := range int64(640) {
			if i%64 == 0 {
				f.set(Grant{Node: 7, Until: now + i/64 + 2}, nil)
			}
			id, err := g.Next(t.Context())
			if err != nil {
				t.Fatalf("ID %d: %v", i, err)
			}
			ids = append(ids, id)
		}
		checkUnique(t, ids)
		checkInside(t, s, ids, f.grants())
	})
}
