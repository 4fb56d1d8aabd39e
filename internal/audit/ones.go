package audit

// ones counts how often each of 64 bits is set.
type ones [64]int64

// add counts the bits of words. Full adders add eight words by columns, so that
// only one word in eight is taken apart.
func (o *ones) add(words []uint64) {
	const lanes = 0x0101010101010101
	for len(words) > 0 {
		// A lane of eight bits holds 255 eights.
		part := words[:min(len(words), 8*255)]
		words = words[len(part):]
		var ones, twos, fours uint64
		var sums [8]uint64
		for ; len(part) >= 8; part = part[8:] {
			p := (*[8]uint64)(part)
			o1, a := addColumns(ones, p[0], p[1])
			o2, b := addColumns(o1, p[2], p[3])
			t1, f1 := addColumns(twos, a, b)
			o3, c := addColumns(o2, p[4], p[5])
			o4, d := addColumns(o3, p[6], p[7])
			t2, f2 := addColumns(t1, c, d)
			f3, eights := addColumns(fours, f1, f2)
			ones, twos, fours = o4, t2, f3
			for i := range sums {
				sums[i] += eights >> i & lanes
			}
		}
		o.collect(&sums, 8)
		for weight, rest := range []uint64{ones, twos, fours} {
			o.addWord(rest, 1<<weight)
		}
		for _, w := range part {
			o.addWord(w, 1)
		}
	}
}

// addColumns returns the sum and the carry of three words, column by column.
func addColumns(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

func (o *ones) collect(sums *[8]uint64, weight int64) {
	for i, s := range sums {
		for lane := range 8 {
			o[8*lane+i] += weight * int64(s>>(8*lane)&0xff)
		}
	}
}

func (o *ones) addWord(w uint64, weight int64) {
	for i := range o {
		o[i] += weight * int64(w>>i&1)
	}
}

func (o *ones) join(q *ones) {
	for i := range o {
		o[i] += q[i]
	}
}
