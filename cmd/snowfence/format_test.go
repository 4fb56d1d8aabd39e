package main

import (
	"math"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

func TestDecimalLines(t *testing.T) {
	var ids []snowfence.ID
	for _, start := range []snowfence.ID{
		math.MinInt64, -11, 0, 8, 95, 999_999_995, 2104672976770170879, math.MaxInt64 - 9, 5, 5,
		1234567890123456785, 99_999_999_999_999_995,
	} {
		for i := range snowfence.ID(10) {
			ids = append(ids, start+i)
		}
	}
	var want strings.Builder
	for _, id := range ids {
		want.WriteString(snowfence.Decimal.Encode(id) + "\n")
	}
	if got := string(appendDecimalLines([]byte("x"), ids)); got != "x"+want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

func TestFormats(t *testing.T) {
	ids := []snowfence.ID{5, 255}
	for _, c := range []struct {
		list string
		json bool
		want string
	}{
		{"dec", false, "5\n255\n"},
		{"hex", false, "5\nff\n"},
		{"dec,hex", false, "5\t5\n255\tff\n"},
		{"dec", true, "{\"id\":\"5\"}\n{\"id\":\"255\"}\n"},
		{"hex,base36", true, "{\"id\":\"5\",\"hex\":\"5\",\"base36\":\"5\"}\n{\"id\":\"255\",\"hex\":\"ff\",\"base36\":\"73\"}\n"},
	} {
		f, err := newFormatter(c.list, c.json)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.append(nil, ids)); got != c.want {
			t.Errorf("%s, JSON %v: got %q, want %q", c.list, c.json, got, c.want)
		}
	}
	for _, list := range []string{"", "octal", "dec,dec"} {
		if _, err := newFormatter(list, false); err == nil {
			t.Errorf("the list %q was accepted", list)
		}
	}
}

func BenchmarkDecimalLines(b *testing.B) {
	ids := make([]snowfence.ID, 4096)
	for i := range ids {
		ids[i] = 2104672976770170879 + snowfence.ID(i)
	}
	var out []byte
	b.Run("counted", func(b *testing.B) {
		for b.Loop() {
			out = appendDecimalLines(out[:0], ids)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/ID")
	})
	b.Run("each anew", func(b *testing.B) {
		for b.Loop() {
			out = out[:0]
			for _, id := range ids {
				out = append(snowfence.Decimal.Append(out, id), '\n')
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/ID")
	})
}
