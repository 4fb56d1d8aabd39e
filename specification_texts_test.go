package snowfence_test

import (
	"crypto/aes"
	"encoding/hex"
	"fmt"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/ff1"
	"github.com/snowfence/snowfence/internal/sparx"
	"github.com/snowfence/snowfence/public"
)

type specText struct {
	Encoding string `json:"encoding"`
	Text     string `json:"text"`
	ID       string `json:"id,omitempty"`
}

type specPrefixed struct {
	Prefix   string `json:"prefix"`
	Encoding string `json:"encoding"`
	Text     string `json:"text"`
	ID       string `json:"id,omitempty"` // missing if the text is refused
}

// specTexts are IDs in all forms, and texts that are read or refused.
func specTexts(t *testing.T) any {
	out := struct {
		Texts       []map[string]string `json:"texts"`
		Read        []specText          `json:"read"`
		Refused     []specText          `json:"refused"`
		Prefixed    []specPrefixed      `json:"prefixed"`
		BadPrefixes []string            `json:"bad_prefixes"`
	}{}
	var forms []snowfence.Encoding
	for _, e := range snowfence.Encodings() {
		forms = append(forms, e, e.Fixed())
	}
	for _, id := range []snowfence.ID{
		0, 1, 9, 10, 31, 32, 57, 61, 62, 1<<32 - 1, 1 << 53, 249887800817025024, 4594531474933654033,
		2111581968557607991, 1<<63 - 1, -1, -2, -42, -1 << 62, -1 << 63,
	} {
		row := map[string]string{"id": id.String()}
		for _, e := range forms {
			row[e.Name()] = e.Encode(id)
		}
		out.Texts = append(out.Texts, row)
	}
	for _, r := range [][2]string{
		{"dec", "00000000000000000042"},
		{"hex", "00DEADbeef"},
		{"base32hex", "0003VGOE12CCB8"},
		{"base32hex", "3VGOE12ccb8gh"},
		{"crockford", "oOiIlL1"},
		{"crockford-fixed", "OOOOOOOOOOOOOI"},
		{"zbase32", "B9"},
		{"base36", "Zz"},
		{"base58", "11111111112"},
		{"crockfordcheck", "0000000000jl"},
		{"crockfordcheck", "6xy7m6OpeoOob"},
		{"crockfordcheck-fixed", "o0000000000000O"},
	} {
		e, err := snowfence.ParseEncoding(r[0])
		if err != nil {
			t.Fatal(err)
		}
		id, err := e.Parse(r[1])
		if len(r[1]) > e.MaxLen() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Read = append(out.Read, specText{r[0], r[1], id.String()})
	}
	for _, r := range [][2]string{
		{"dec", ""},
		{"dec", "-"},
		{"dec", "-0"},
		{"dec", "-01"},
		{"dec", "+1"},
		{"dec", " 1"},
		{"dec", "1_0"},
		{"dec", "1\n"},
		{"dec", "\u0661"},
		{"dec", "9223372036854775808"},
		{"dec", "-9223372036854775809"},
		{"dec", "000000000000000000001"},
		{"dec-fixed", "42"},
		{"dec-fixed", "09223372036854775808"},
		{"dec-fixed", "10000000000000000000"},
		{"dec-fixed", "+0000000000000000042"},
		{"hex", "0x1f"},
		{"hex", "10000000000000000"},
		{"hex", "-1"},
		{"hex-fixed", "08000000000000000"},
		{"base32hex", "g000000000000"},
		{"base32hex", "1w"},
		{"base32hex", "03vgoe12ccb8gh"},
		{"crockford", "1U"},
		{"crockford", "1-1"},
		{"zbase32", "0"},
		{"base36", "3w5e11264sgsg"},
		{"base58", "0"},
		{"base58", "jpXCZedGfVR"},
		{"base58flickr", "l"},
		{"base62", "LygHa16AHYG"},
		{"base62", "zzzzzzzzzzz"},
		{"base62-fixed", "0AzL8n0Y58m8"},
		{"base64url", "AAAAAAAAAA"},
		{"base64url", "AAAAAAAAAAB"},
		{"base64url", "AAAAAAAAAA="},
		{"base64url-fixed", "A-----------"},
		{"crockfordcheck", "0"},
		{"crockfordcheck", "13"},
		{"crockfordcheck", "1U"},
		{"crockfordcheck", "6XY7M06PE000B"},
		{"crockfordcheck-fixed", "-00000000000012"},
	} {
		e, err := snowfence.ParseEncoding(r[0])
		if err != nil {
			t.Fatal(err)
		}
		if id, err := e.Parse(r[1]); err == nil {
			t.Errorf("%s %q is %d", r[0], r[1], id)
		}
		out.Refused = append(out.Refused, specText{Encoding: r[0], Text: r[1]})
	}
	for _, p := range []specPrefixed{
		{"ord", "base32hex", "ord_3vgoe12ccb8gh", "4594531474933654033"},
		{"line_item", "dec", "line_item_-5", "-5"},
		{"v2", "base64url", "v2_AAAAAAAAAAE", "1"},
		{"a__b", "hex-fixed", "a__b_0000000000000002a", ""},
		{"a__b", "hex-fixed", "a__b_0000000000000002", ""},
		{"a__b", "hex-fixed", "a__b_000000000000002a", ""},
		{"ord", "base32hex", "usr_3vgoe12ccb8gh", ""},
		{"ord", "base32hex", "ORD_3vgoe12ccb8gh", ""},
		{"ord", "base32hex", "old_ord_3vgoe12ccb8gh", ""},
		{"ord", "base32hex", "3vgoe12ccb8gh", ""},
		{"ord", "base32hex", "ord_", ""},
	} {
		e, err := snowfence.ParseEncoding(p.Encoding)
		if err != nil {
			t.Fatal(err)
		}
		id, err := public.MustPrefix(p.Prefix, e).Parse(p.Text)
		if err == nil && p.ID == "" {
			p.ID = id.String()
		}
		if (err == nil) != (p.ID != "") || err == nil && p.ID != id.String() {
			t.Errorf("%+v: %d, %v", p, id, err)
		}
		out.Prefixed = append(out.Prefixed, p)
	}
	out.BadPrefixes = []string{"", "Ord", "2nd", "_a", "a_", "a-b", "aé", "a b"}
	for _, name := range out.BadPrefixes {
		if _, err := public.NewPrefix(name, snowfence.Hex); err == nil {
			t.Errorf("the prefix %q", name)
		}
	}
	return out
}

type specSparx struct {
	Key    string `json:"key"`
	Plain  string `json:"plain"`
	Cipher string `json:"cipher"`
}

type specFF1 struct {
	Key    string `json:"key"`
	Bits   int    `json:"bits"`
	Tweak  string `json:"tweak"` // ASCII
	Plain  string `json:"plain"`
	Cipher string `json:"cipher"`
}

type specMask struct {
	Secret  string `json:"secret"`
	Private string `json:"private"`
	Public  string `json:"public"`
}

// specCiphers are the steps below encrypted IDs, for who finds that an ID differs.
func specCiphers(t *testing.T) any {
	var out struct {
		AES     []specSparx `json:"aes"`   // blocks of 16 bytes
		SPARX   []specSparx `json:"sparx"` // blocks of 8 bytes, the high byte of each word first
		FF1     []specFF1   `json:"ff1"`
		Masks   []specMask  `json:"masks"`
		Secrets [][2]string `json:"secret_ids"`
	}
	for _, v := range [][2]string{ // FIPS 197, appendices C.1 and B
		{"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734"},
	} {
		b, err := aes.NewCipher(unhex(t, v[0]))
		if err != nil {
			t.Fatal(err)
		}
		block := unhex(t, v[1])
		b.Encrypt(block, block)
		out.AES = append(out.AES, specSparx{v[0], v[1], hex.EncodeToString(block)})
	}
	for _, v := range [][2]string{ // the first is of the cipher's paper
		{otherSecret, "0123456789abcdef"},
		{oneSecret, "0000000000000000"},
		{oneSecret, "ffffffffffffffff"},
	} {
		c, err := sparx.New(unhex(t, v[0]))
		if err != nil {
			t.Fatal(err)
		}
		block := unhex(t, v[1])
		c.Encrypt(block, block)
		out.SPARX = append(out.SPARX, specSparx{v[0], v[1], hex.EncodeToString(block)})
	}
	if out.SPARX[0].Cipher != "2bbef15201f55f98" {
		t.Error("SPARX is not that of its paper")
	}
	for i, v := range []struct {
		bits  int
		tweak string
		plain uint64
	}{
		{20, "", 0},
		{20, "snowfence id 0", 1<<20 - 1},
		{53, "snowfence id 0", 1},
		{60, "snowfence id 12", 1 << 59},
		{63, "snowfence id 1", 1<<63 - 1},
		{64, "a tweak of more than one block of 16 bytes", 12345678901234567890},
		{33, "snowfence id 65535", 1<<33 - 2},
	} {
		key := []string{oneSecret, otherSecret}[i%2]
		c, err := ff1.New(unhex(t, key), v.bits, []byte(v.tweak))
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Encrypt(v.plain)
		if err != nil {
			t.Fatal(err)
		}
		out.FF1 = append(out.FF1, specFF1{key, v.bits, v.tweak, fmt.Sprint(v.plain), fmt.Sprint(x)})
	}
	for _, key := range []string{oneSecret, otherSecret} {
		k, err := snowfence.ParseSecret([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		m, err := public.NewMask(k)
		if err != nil {
			t.Fatal(err)
		}
		out.Secrets = append(out.Secrets, [2]string{key, k.ID()})
		for _, id := range []snowfence.ID{0, 1, 249887800817025024, -1} {
			out.Masks = append(out.Masks, specMask{key, id.String(), m.Public(id).String()})
		}
	}
	return out
}

// specStep is a thing that happens to a generator: a grant, a lost grant, or a call at a tick of
// the clock, with the ID that it returns, or none.
type specStep struct {
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	Node  string `json:"node,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
	Now   string `json:"now,omitempty"`
	ID    string `json:"id,omitempty"`
}

type specScene struct {
	Name   string     `json:"name"`
	Layout string     `json:"layout"`
	Lead   int64      `json:"lead"`
	Steps  []specStep `json:"steps"`
}

// specGrants are scenes of the generator that the page describes.
func specGrants(t *testing.T) any {
	grant := func(node, from, until int64) specStep {
		return specStep{Node: fmt.Sprint(node), From: fmt.Sprint(from), Until: fmt.Sprint(until)}
	}
	at := func(ticks ...int64) (steps []specStep) {
		for _, tick := range ticks {
			steps = append(steps, specStep{Now: strconv.FormatInt(tick, 10)})
		}
		return steps
	}
	join := func(parts ...[]specStep) (steps []specStep) {
		for _, p := range parts {
			steps = append(steps, p...)
		}
		return steps
	}
	one := func(s specStep) []specStep { return []specStep{s} }
	const small = "time=20,node=4,seq=2,epoch=2025-01-01,tick=1ms"
	scenes := []specScene{
		{"without a grant there are no IDs", small, 0, at(100, 101)},
		{
			"a tick is used up, then the next one", small, 0,
			join(one(grant(3, 100, 200)), at(100, 100, 100, 100, 100, 101)),
		},
		{"the clock steps back", small, 0, join(one(grant(3, 100, 200)), at(150, 149, 149, 149, 149, 148, 151))},
		{"ahead of the clock by the lead", small, 2, join(one(grant(3, 100, 200)), at(100, 100, 100, 100, 100, 100, 100,
			100, 100, 100, 100, 100, 100, 101))},
		{"before the grant, with a lead that reaches it", small, 2, join(one(grant(3, 100, 200)), at(90, 97, 98, 98))},
		{"the grant ends", small, 5, join(one(grant(3, 100, 102)), at(101, 101, 101, 101, 101, 102, 103))},
		{"a renewal goes on", small, 0, join(one(grant(3, 100, 102)), at(101, 101), one(grant(3, 100, 110)), at(101, 105))},
		{
			"a renewal whose first tick rose", small, 0,
			join(one(grant(3, 100, 102)), at(101), one(grant(3, 108, 115)), at(101, 107, 108)),
		},
		{"a lost grant, and another node", small, 0, join(one(grant(3, 100, 200)), at(101), one(specStep{Lost: true}),
			at(101, 102), one(grant(4, 50, 200)), at(101, 101))},
		{
			"the same node again", small, 0,
			join(one(grant(3, 100, 200)), at(101), one(specStep{Lost: true}), one(grant(3, 102, 300)), at(101, 102)),
		},
		{"reserved numbers", "time=51,node=6,seq=3,first=5,last=6", 0, join(one(grant(3, 100, 200)), at(100, 100, 100, 101))},
		{"one ID a tick", "time=41,node=10", 1, join(one(grant(3, 100, 200)), at(100, 100, 100))},
	}
	for i := range scenes {
		l := layoutOf(t, scenes[i].Layout)
		s := schemeOf(t, l, nil)
		scenes[i].Layout = l.String()
		var g struct{ node, from, until int64 }
		tick, seq := int64(-1), l.Last
		for j := range scenes[i].Steps {
			step := &scenes[i].Steps[j]
			number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
			switch {
			case step.Lost:
				g.until = 0
			case step.Until != "":
				if g.node != number(step.Node) || g.until == 0 {
					tick, seq = -1, l.Last
				}
				g.node, g.from, g.until = number(step.Node), number(step.From), number(step.Until)
			default:
				now, next, n := number(step.Now), tick, seq+1
				if n > l.Last {
					next, n = tick+1, l.First
				}
				if floor := max(now, g.from); floor > next {
					next, n = floor, l.First
				}
				if next >= g.until || next > now+scenes[i].Lead {
					continue
				}
				id, err := s.Compose(snowfence.Parts{Tick: next, Node: g.node, Sequence: n})
				if err != nil {
					t.Fatal(err)
				}
				tick, seq, step.ID = next, n, id.String()
			}
		}
	}
	return scenes
}
