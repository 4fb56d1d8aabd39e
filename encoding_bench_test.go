package snowfence

import (
	"strconv"
	"testing"
)

func BenchmarkEncodingAppend(b *testing.B) {
	dst := make([]byte, 0, maxLen)
	b.Run("strconv", func(b *testing.B) {
		id := int64(4594531474933654033)
		for b.Loop() {
			dst = strconv.AppendInt(dst[:0], id, 10)
			id += 4097
		}
	})
	for _, e := range allForms() {
		b.Run(e.Name(), func(b *testing.B) {
			id := ID(4594531474933654033)
			for b.Loop() {
				dst = e.Append(dst[:0], id)
				id += 4097
			}
		})
	}
}

func BenchmarkEncodingParse(b *testing.B) {
	b.Run("strconv", func(b *testing.B) {
		for b.Loop() {
			_, _ = strconv.ParseInt("4594531474933654033", 10, 64)
		}
	})
	for _, e := range allForms() {
		text := e.Encode(4594531474933654033)
		b.Run(e.Name(), func(b *testing.B) {
			for b.Loop() {
				_, _ = e.Parse(text)
			}
		})
	}
}
