//go:build !purego

package sparx

//go:generate go run -C _asm .

// These functions read and write groups × 32 numbers. groups is at least 1.
// keys points to the first word of a lanes.

//go:noescape
func encryptAVX512(dst, src *uint64, groups int, keys *uint64)

//go:noescape
func counterAVX512(dst, seed *uint64, groups int, keys *uint64)

// groupOf is the group size of a path; 0 for none.
func groupOf(p Path) int {
	if p == AVX512 {
		return 32
	}
	return 0
}

// encryptGroups encrypts whole groups, one or more.
func (k *schedule) encryptGroups(blocks []uint64) {
	encryptAVX512(&blocks[0], &blocks[0], len(blocks)/32, &k.enc[0])
}

// counterGroups fills one or more whole groups with encrypted numbers of a
// counter. Only their lowest words count, and wrap to 0.
func (k *schedule) counterGroups(dst []uint64, s *seed) {
	counterAVX512(&dst[0], &s[0], len(dst)/32, &k.enc[0])
}
