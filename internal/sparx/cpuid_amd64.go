//go:build !purego

package sparx

// cpuid asks the CPU for its features.
func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

// xgetbv tells which registers the operating system saves. It needs
// osxsave.
func xgetbv() uint32

// vectorPaths asks the CPU for each new cipher, which keeps no state and
// takes as long as a few hundred blocks in a virtual machine.
func vectorPaths() []Path {
	const (
		// Leaf 1, register c.
		osxsave = 1 << 27
		avx     = 1 << 28

		// Leaf 7, register b.
		avx512f  = 1 << 16
		avx512bw = 1 << 30

		// Leaf 7, register c.
		avx512vbmi  = 1 << 1
		avx512vbmi2 = 1 << 6

		// XCR0.
		saves = 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7
	)
	has := func(flags, wanted uint32) bool { return flags&wanted == wanted }

	if last, _, _, _ := cpuid(0, 0); last < 7 {
		return nil
	}
	_, _, c1, _ := cpuid(1, 0)
	if !has(c1, osxsave|avx) {
		return nil
	}
	_, b7, c7, _ := cpuid(7, 0)
	if !has(xgetbv(), saves) || !has(b7, avx512f|avx512bw) || !has(c7, avx512vbmi|avx512vbmi2) {
		return nil
	}
	return []Path{AVX512}
}
