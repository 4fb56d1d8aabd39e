package audit

// ones counts how often each of 64 bits is set.
type ones [64]int64

// add counts the bits of words: each of eight lanes has sums for every eighth bit, which hold 255.
func (o *ones) add(words []uint64) {
	const lanes = 0x0101010101010101
	for len(words) > 0 {
		part := words[:min(len(words), 255)]
		words = words[len(part):]
		var sums [8]uint64
		for _, w := range part {
			for i := range sums {
				sums[i] += w >> i & lanes
			}
		}
		for i, s := range sums {
			for lane := range 8 {
				o[8*lane+i] += int64(s >> (8 * lane) & 0xff)
			}
		}
	}
}
