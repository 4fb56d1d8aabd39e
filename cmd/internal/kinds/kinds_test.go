package kinds

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// TestPublishedVectors reads the examples of RFC 9562, and of the libraries'
// own pages.
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
		{"9m4e2mr0ui3e8a215n4g", "xid", "2011-03-22T17:50:19Z", map[string]string{
			"machine": "60f486", "pid": "58408", "counter": "4271561",
		}},
	} {
		a, ok := Recognize(c.text)
		when := ""
		if a.Time != nil {
			when = a.Time.Truncate(time.Microsecond).Format(time.RFC3339Nano)
		}
		facts := map[string]string{}
		for _, f := range a.Facts {
			facts[f.Name] = fmt.Sprint(f.Value)
		}
		if !ok || a.Kind != c.kind || when != c.when || !maps.Equal(facts, c.facts) {
			t.Errorf("%s: %t, %s, %s, %v", c.text, ok, a.Kind, when, facts)
		}
	}
}

// What is not of a kind is not taken for one.
func TestNotRecognized(t *testing.T) {
	for _, text := range []string{
		"", "18446744073709551610", "99999999999999999999", "00000000000000000000000000", "249887800817025024",
		"d41d8cd98f00b204e9800998ecf8427e", // a hash
		"ord_3vgoe12ccb8gh", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "9m4e2mr0ui3e8a215n4h", "9M4E2MR0UI3E8A215N4G",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "0ujtsYcgvSTl8PAuAdqWYSMnLOv", "prefix_01h455vb4pex5vsknk084sn02q", "the-quick-brown-fox-jumps-over-lazy",
	} {
		if a, ok := Recognize(text); ok {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

// Each kind makes IDs that are recognized, of now.
func TestMakers(t *testing.T) {
	for _, kind := range strings.Split(List, ", ") {
		next, err := Maker(kind)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			text, err := next()
			if err != nil {
				t.Fatal(err)
			}
			a, ok := Recognize(text)
			if !ok || a.Kind != kind || a.Text != text {
				t.Fatalf("%s: %s is recognized as %+v", kind, text, a)
			}
			if a.Time != nil && time.Since(*a.Time).Abs() > time.Hour {
				t.Fatalf("%s: %s is of %v", kind, text, a.Time)
			}
		}
	}
	for _, kind := range []string{"", "uuid", "ulid", strings.Repeat("x", 1000)} {
		if _, err := Maker(kind); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", kind, err)
		}
	}
}

func FuzzRecognize(f *testing.F) {
	for _, s := range []string{
		"", "C232AB00-9414-11EC-B3C8-9F6BDECED846", "9m4e2mr0ui3e8a215n4g", "{00000000-0000-0000-0000-000000000000}",
		"urn:uuid:2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", strings.Repeat("0", 25) + "\xfc0", strings.Repeat("\xff", 20),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, ok := Recognize(s); ok {
			if again, ok := Recognize(a.Text); !ok || fmt.Sprint(again.Facts) != fmt.Sprint(a.Facts) {
				t.Errorf("%q is %+v, and its usual form %+v", s, a, again)
			}
		}
	})
}
