package kinds

import (
	"crypto/rand"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/snowfence/snowfence/internal/audit"
	"github.com/snowfence/snowfence/internal/draw"
)

// TestPublishedVectors reads the examples of RFC 9562, of the TypeID specification, and of the
// libraries' own pages and tests.
func TestPublishedVectors(t *testing.T) {
	for _, c := range []struct {
		text, kind, when string
		facts            map[string]string
	}{
		{
			"C232AB00-9414-11EC-B3C8-9F6BDECED846", "uuidv1", "2022-02-22T19:22:22Z",
			map[string]string{"clock sequence": "13256", "node": "9f:6b:de:ce:d8:46", "node is": "random"},
		},
		{
			"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "uuidv1", "1998-02-04T22:13:53.151182Z",
			map[string]string{"clock sequence": "180", "node": "00:c0:4f:d4:30:c8", "node is": "mac"},
		},
		{"000003e8-9414-21ec-b300-0242ac110002", "uuidv2", "", map[string]string{
			"domain": "Person", "number": "1000", "node": "02:42:ac:11:00:02", "node is": "local",
		}},
		{"5df41881-3aed-3515-88a7-2f4a814cf09e", "uuidv3", "", map[string]string{"hash": "md5"}},
		{"919108f7-52d1-4320-9bac-f847db4148a8", "uuidv4", "", map[string]string{"random bits": "122"}},
		{"2ed6657d-e927-568b-95e1-2665a8aea6a2", "uuidv5", "", map[string]string{"hash": "sha1"}},
		{"1EC9414C-232A-6B00-B3C8-9F6BDECED846", "uuidv6", "2022-02-22T19:22:22Z", map[string]string{
			"clock sequence": "13256", "node": "9f:6b:de:ce:d8:46", "node is": "random",
		}},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuidv7", "2022-02-22T19:22:22Z", map[string]string{"random bits": "74"}},
		{"017f22e279b07cc398c4dc0c0c07398f", "uuidv7", "2022-02-22T19:22:22Z", map[string]string{"random bits": "74"}},
		{"urn:uuid:2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", "uuidv8", "", map[string]string{"content": "custom"}},
		{"{00000000-0000-0000-0000-000000000000}", "uuid", "", nil},
		{"ffffffff-ffff-ffff-ffff-ffffffffffff", "uuid", "", nil},
		{"2489e9ad-2ee2-8e00-cec9-32d5f69181c0", "uuid", "", nil}, // Microsoft's variant
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid", "2016-07-30T23:54:10.259Z", map[string]string{"random bits": "80"}},
		{"01G65Z755AFWAKHE12NY0CQ9FH", "ulid", "2022-06-22T15:06:45.29Z", map[string]string{"random bits": "80"}},
		{"0ujtsYcgvSTl8PAuAdqWYSMnLOv", "ksuid", "2017-10-10T04:00:47Z", map[string]string{"random bits": "128"}},
		{"9m4e2mr0ui3e8a215n4g", "xid", "2011-03-22T17:50:19Z", map[string]string{
			"machine": "60f486", "pid": "58408", "counter": "4271561",
		}},
		{"prefix_01h455vb4pex5vsknk084sn02q", "typeid", "2023-06-30T03:34:18.518Z", map[string]string{
			"prefix": "prefix", "uuid": "01890a5d-ac96-774b-bcce-b302099a8057", "random bits": "74",
		}},
		{"01h455vb4pex5vsknk084sn02q", "typeid", "2023-06-30T03:34:18.518Z", map[string]string{
			"uuid": "01890a5d-ac96-774b-bcce-b302099a8057", "random bits": "74",
		}},
	} {
		a, ok := Recognize(c.text)
		when := ""
		if a.Time != nil {
			when = a.Time.Truncate(time.Microsecond).Format(time.RFC3339Nano)
		}
		facts := map[string]string{}
		for _, f := range a.Facts {
			facts[f.Name] = f.Format()
		}
		if !ok || a.Kind != c.kind || when != c.when || !maps.Equal(facts, c.facts) {
			t.Errorf("%s: %t, %s, %s, %v", c.text, ok, a.Kind, when, facts)
		}
	}
}

// TestTypeIDVectors has those of valid.yml and invalid.yml of the specification 0.3.
func TestTypeIDVectors(t *testing.T) {
	any, err := Parse("typeid")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"00000000000000000000000000":         "00000000-0000-0000-0000-000000000000",
		"00000000000000000000000001":         "00000000-0000-0000-0000-000000000001",
		"0000000000000000000000000a":         "00000000-0000-0000-0000-00000000000a",
		"0000000000000000000000000g":         "00000000-0000-0000-0000-000000000010",
		"00000000000000000000000010":         "00000000-0000-0000-0000-000000000020",
		"7zzzzzzzzzzzzzzzzzzzzzzzzz":         "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"prefix_0123456789abcdefghjkmnpqrs":  "0110c853-1d09-52d8-d73e-1194e95b5f19",
		"prefix_01h455vb4pex5vsknk084sn02q":  "01890a5d-ac96-774b-bcce-b302099a8057",
		"pre_fix_00000000000000000000000000": "00000000-0000-0000-0000-000000000000",
	} {
		v, err := any.read(text)
		if err != nil || v.uuid.String() != want || !strings.HasSuffix(text, encode32(v.uuid)) {
			t.Errorf("%s: %v, %v", text, v.uuid, err)
		}
	}
	for _, text := range []string{
		"PREFIX_00000000000000000000000000", "12345_00000000000000000000000000", "pre.fix_00000000000000000000000000",
		"préfix_00000000000000000000000000", "  prefix_00000000000000000000000000", "_00000000000000000000000000", "_",
		strings.Repeat("a", 64) + "_00000000000000000000000000", "prefix_1234567890123456789012345",
		"prefix_123456789012345678901234567", "prefix_1234567890123456789012345 ", "prefix_0123456789ABCDEFGHJKMNPQRS",
		"prefix_123456789-123456789-123456", "prefix_ooooooiiiiiiuuuuuuulllllll", "prefix_i23456789ol23456789oi23456",
		"prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz", "_prefix_00000000000000000000000000", "prefix__00000000000000000000000000",
		"", "prefix_",
	} {
		if v, err := any.read(text); err == nil {
			t.Errorf("%q is %v", text, v.uuid)
		}
	}
}

// What is not of a kind is not taken for one.
func TestNotRecognized(t *testing.T) {
	for _, text := range []string{
		"", "18446744073709551610", "99999999999999999999", "00000000000000000000000000", "249887800817025024",
		"d41d8cd98f00b204e9800998ecf8427e", // a hash
		"ord_3vgoe12ccb8gh", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "9m4e2mr0ui3e8a215n4h", "9M4E2MR0UI3E8A215N4G",
		"zzzzzzzzzzzzzzzzzzzzzzzzzzz", "01ARZ3NDEKTSV4RRFFQ69G5FAU", "the-quick-brown-fox-jumps-over-lazy",
	} {
		if a, ok := Recognize(text); ok {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Kind{
		"uuid": {name: "uuid"}, "uuidv4": {name: "uuidv4", version: 4}, "uuidv7": {name: "uuidv7", version: 7},
		"ulid": {name: "ulid"}, "typeid": {name: "typeid", any: true}, "typeid:": {name: "typeid"},
		"typeid:line_item": {name: "typeid", prefix: "line_item_"},
	} {
		if k, err := Parse(name); err != nil || k != want {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	for name, want := range map[string]string{
		"": "unknown kind", "uuidv1": "want one of uuidv4, uuidv7", "ulid:x": "unknown kind",
		"typeid:User": "other than a-z and _", "typeid:_a": "begins or ends with _",
		"typeid:" + strings.Repeat("a", 64): "more than 63", strings.Repeat("x", 1000): "unknown kind",
	} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Each kind makes IDs that it reads and recognizes, of now, in order where it says so.
func TestMakers(t *testing.T) {
	for _, name := range []string{"uuidv4", "uuidv7", "ulid", "ksuid", "xid", "typeid", "typeid:", "typeid:user"} {
		k, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		next, err := k.Maker()
		if err != nil {
			t.Fatal(err)
		}
		var last audit.Wide
		for i := range 1000 {
			text, err := next()
			if err != nil {
				t.Fatal(err)
			}
			v, err := k.Value([]byte(text))
			if err != nil || k.Text(v) != text {
				t.Fatalf("%s: %s is read as %s, %v", name, text, k.Text(v), err)
			}
			a, ok := Recognize(text)
			if !ok || !strings.HasPrefix(name, a.Kind) {
				t.Fatalf("%s: %s is recognized as %+v", name, text, a)
			}
			if a.Time != nil && time.Since(*a.Time).Abs() > time.Hour {
				t.Fatalf("%s: %s is of %v", name, text, a.Time)
			}
			if k.Ordered() && k.Name() != "ksuid" && i > 0 && v.Compare(last) <= 0 {
				t.Fatalf("%s: %s is not above %s", name, text, k.Text(last))
			}
			last = v
		}
	}
	k, _ := Parse("uuid")
	if _, err := k.Maker(); err == nil || !strings.Contains(err.Error(), "uuidv7 begins with the time") {
		t.Error(err)
	}
}

// The bits that are said to hold a time and random numbers do so.
func TestBits(t *testing.T) {
	for name, random := range map[string]int{
		"uuidv4": 122, "uuidv7": 62, "typeid:": 62, "ulid": 80, "ksuid": 128, "xid": 0,
	} {
		k, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		ones := 0
		for i, w := range k.Random() {
			for b := range 64 {
				ones += int(w >> b & 1)
			}
			if w&k.Time()[i] != 0 {
				t.Errorf("%s: bits of the time are random", name)
			}
		}
		if ones != random {
			t.Errorf("%s: %d random bits", name, ones)
		}
	}
	v4, _ := Parse("uuidv4")
	for range 100 {
		u := uuid.Must(uuid.NewRandomFromReader(rand.Reader))
		fixed := wide(u[:])
		mask := v4.Random()
		for i := range fixed {
			fixed[i] &^= mask[i]
		}
		if fixed != (audit.Wide{0, 0x4000, 1 << 63}) {
			t.Fatalf("%s has the fixed bits %x", u, fixed)
		}
	}
}

// Numbers sort as texts do, and come back.
func TestValuesSort(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		name := draw.One(t, []string{"uuid", "ulid", "ksuid", "xid", "typeid:a"})
		k, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		a, b := wide(t.Bytes(k.Bits()/8, k.Bits()/8)), wide(t.Bytes(k.Bits()/8, k.Bits()/8))
		x, y := k.Text(a), k.Text(b)
		if v, err := k.Value([]byte(x)); err != nil || v != a {
			t.Fatalf("%s: %x is %s, %x, %v", name, a, x, v, err)
		}
		if strings.Compare(x, y) != a.Compare(b) {
			t.Fatalf("%s: %s and %s sort in another way than their numbers", name, x, y)
		}
	})
}

func FuzzRecognize(f *testing.F) {
	for _, s := range []string{
		"", "C232AB00-9414-11EC-B3C8-9F6BDECED846", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
		"9m4e2mr0ui3e8a215n4g", "prefix_01h455vb4pex5vsknk084sn02q", "{00000000-0000-0000-0000-000000000000}",
		"urn:uuid:2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", strings.Repeat("z", 27), strings.Repeat("0", 25) + "\xfc0", strings.Repeat("\xff", 20),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, ok := Recognize(s); ok {
			if again, ok := Recognize(a.Text); !ok || fmt.Sprint(again.Facts) != fmt.Sprint(a.Facts) {
				t.Errorf("%q is %+v, and its usual form %+v", s, a, again)
			}
		}
		for _, name := range []string{"uuid", "uuidv4", "uuidv7", "ulid", "ksuid", "xid", "typeid", "typeid:a"} {
			k, err := Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			v, err := k.Value([]byte(s))
			if err != nil {
				if len(err.Error()) > 400 {
					t.Errorf("%q: %v", s, err)
				}
				continue
			}
			if w, err := k.Value([]byte(k.Text(v))); err != nil || w != v {
				t.Errorf("%s %q: %s, %v", name, s, k.Text(v), err)
			}
		}
	})
}
