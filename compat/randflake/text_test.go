package randflake

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// The original refuses to read IDs from 2041 on, although it makes them.
func TestInspectAfter2041(t *testing.T) {
	now := int64(RANDFLAKE_EPOCH_OFFSET + 1<<29)
	g := generator(t, RANDFLAKE_MAX_NODE, now, RANDFLAKE_MAX_TIMESTAMP, &now)
	for _, at := range []int64{now, now + 12345, RANDFLAKE_MAX_TIMESTAMP} {
		now = at
		if m := generate(t, g); m != (made{at, RANDFLAKE_MAX_NODE, 0}) {
			t.Errorf("%+v at %s", m, time.Unix(at, 0))
		}
	}
}

func TestText(t *testing.T) {
	const bad = -1
	for _, c := range []struct {
		text            string
		strict, lenient int64
	}{
		{"3vgoe12ccb8gh", 4594531474933654033, 4594531474933654033},
		{"3VGOE12CCB8GH", 4594531474933654033, 4594531474933654033},
		{"0", 0, 0},
		{"1", 1, 1},
		{"0000000000001", 1, 1},
		{"7vvvvvvvvvvvv", math.MaxInt64, math.MaxInt64},
		{"8000000000000", math.MinInt64, math.MinInt64},
		{"fvvvvvvvvvvvu", -2, -2},
		{"", bad, 0},
		{"=", bad, 0},
		{"1=", bad, 1},
		{"1=?", bad, 1},
		{"g000000000001", bad, 1}, // more than 64 bits
		{"00000000000001", bad, 1},
		{"11111111111111111", bad, 0b0001_00001_00001_00001_00001_00001_00001_00001_00001_00001_00001_00001_00001},
		{"w", bad, bad},
		{"?1", bad, bad},
		{" 1", bad, bad},
		{"-1", bad, bad},
		{"1é", bad, bad},
	} {
		for name, f := range map[string]func(string) (int64, error){"strict": DecodeString, "lenient": DecodeLenient} {
			want := c.strict
			if name == "lenient" {
				want = c.lenient
			}
			got, err := f(c.text)
			if want == bad && (err != ErrInvalidID || got != 0) || want != bad && (err != nil || got != want) {
				t.Errorf("%s %q: %d, %v; want %d", name, c.text, got, err, want)
			}
		}
	}
	g := generator(t, 7, noon, noon, new(int64))
	if _, _, _, err := g.InspectString("1="); err != ErrInvalidID {
		t.Error(err)
	}
	if s := EncodeString(-2); s != "fvvvvvvvvvvvu" {
		t.Error(s)
	}
	now := int64(noon)
	g.TimeSource = func() int64 { return now }
	s, err := g.GenerateString()
	if err != nil {
		t.Fatal(err)
	}
	if second, node, _, err := g.InspectString(s); err != nil || second != noon || node != 7 {
		t.Errorf("%s: %d, %d, %v", s, second, node, err)
	}
	now++
	if s, err := g.GenerateString(); s != "" || err != ErrInvalidLease {
		t.Errorf("%q, %v", s, err)
	}
}

func TestSecretShowsNowhere(t *testing.T) {
	secret := secretOf(t)
	now := int64(noon)
	g := generator(t, 7, noon, noon, &now)
	generate(t, g)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", g)
	}
	text := strings.ToLower(out.String())
	for _, part := range []string{
		hex.EncodeToString(secret[:4]), string(secret[:4]), strings.Trim(fmt.Sprint(secret[:4]), "[]"),
	} {
		if strings.Contains(text, strings.ToLower(part)) {
			t.Errorf("the secret shows as %q", part)
		}
	}
}
