package snowfence

import (
	"context"
	"testing"
)

// wide is a layout whose sequence is never used up by a benchmark, so that what is
// measured is not waiting.
const wide = "time=40,node=2,seq=21"

func benchGenerator(b *testing.B, spec string, coarse bool) *Generator {
	b.Helper()
	l, err := ParseLayout(spec)
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewScheme(l)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Config{Fence: Unguarded(s, 1), Coarse: coarse})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	b.ReportAllocs()
	b.ResetTimer()
	return g
}

func benchNext(b *testing.B, g *Generator) {
	ctx := context.Background()
	for range b.N {
		if _, err := g.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func benchNextParallel(b *testing.B, g *Generator) {
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			if _, err := g.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchLocal(b *testing.B, g *Generator) {
	l := g.Local()
	ctx := context.Background()
	for range b.N {
		if _, err := l.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B)               { benchNext(b, benchGenerator(b, wide, false)) }
func BenchmarkNextParallel(b *testing.B)       { benchNextParallel(b, benchGenerator(b, wide, false)) }
func BenchmarkNextTwitter(b *testing.B)        { benchNext(b, benchGenerator(b, "twitter", false)) }
func BenchmarkNextCoarse(b *testing.B)         { benchNext(b, benchGenerator(b, wide, true)) }
func BenchmarkNextCoarseParallel(b *testing.B) { benchNextParallel(b, benchGenerator(b, wide, true)) }
func BenchmarkLocalCoarse(b *testing.B)        { benchLocal(b, benchGenerator(b, wide, true)) }
func BenchmarkLocalExact(b *testing.B)         { benchLocal(b, benchGenerator(b, wide, false)) }
func BenchmarkLocalCoarseParallel(b *testing.B) {
	g := benchGenerator(b, wide, true)
	b.RunParallel(func(pb *testing.PB) {
		l := g.Local()
		ctx := context.Background()
		for pb.Next() {
			if _, err := l.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFill1024(b *testing.B) {
	g := benchGenerator(b, wide, false)
	dst := make([]ID, 1024)
	for range b.N {
		if _, err := g.Fill(context.Background(), dst); err != nil {
			b.Fatal(err)
		}
	}
}

// benchEncrypted is benchGenerator with a cipher.
func benchEncrypted(b *testing.B, spec string, coarse bool) *Generator {
	b.Helper()
	g, err := New(Config{Fence: Unguarded(testScheme(b, spec), 1), Coarse: coarse})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	b.ReportAllocs()
	b.ResetTimer()
	return g
}

const (
	wideSPARX = wide + ",cipher=sparx"
	wideFF1   = wide + ",cipher=ff1"
)

func BenchmarkNextSPARX(b *testing.B)       { benchNext(b, benchEncrypted(b, wideSPARX, false)) }
func BenchmarkNextCoarseSPARX(b *testing.B) { benchNext(b, benchEncrypted(b, wideSPARX, true)) }
func BenchmarkNextFF1(b *testing.B)         { benchNext(b, benchEncrypted(b, wideFF1, false)) }
func BenchmarkLocalCoarseSPARX(b *testing.B) {
	benchLocal(b, benchEncrypted(b, wideSPARX, true))
}

func BenchmarkFill1024SPARX(b *testing.B) {
	g := benchEncrypted(b, wideSPARX, false)
	dst := make([]ID, 1024)
	for range b.N {
		if _, err := g.Fill(context.Background(), dst); err != nil {
			b.Fatal(err)
		}
	}
}
