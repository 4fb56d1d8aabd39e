package audit

import (
	"math/bits"
	"slices"
)

// smallSort is up to how many words a comparison sort is faster.
const smallSort = 256

// sortWords sorts words. Bits that are the same in all cost nothing, as in IDs
// made in order.
func sortWords(words, scratch []uint64) {
	if len(words) < 2 {
		return
	}
	var differ uint64
	sorted := true
	for i, w := range words[1:] {
		differ |= w ^ words[0]
		sorted = sorted && words[i] <= w
	}
	switch {
	case sorted:
	case len(words) <= smallSort:
		slices.Sort(words)
	case len(words) <= len(scratch):
		sortByLow(words, scratch, differ)
	default:
		sortByHigh(words, scratch, bits.Len64(differ))
	}
}

// sortByLow sorts by byte from the lowest up, between words and scratch.
func sortByLow(words, scratch []uint64, differ uint64) {
	var counts [8][256]uint32
	for _, w := range words {
		counts[0][byte(w)]++
		counts[1][byte(w>>8)]++
		counts[2][byte(w>>16)]++
		counts[3][byte(w>>24)]++
		counts[4][byte(w>>32)]++
		counts[5][byte(w>>40)]++
		counts[6][byte(w>>48)]++
		counts[7][byte(w>>56)]++
	}
	from, to := words, scratch[:len(words)]
	for digit := range 8 {
		shift := 8 * digit
		if differ>>shift&0xff == 0 {
			continue
		}
		next := &counts[digit]
		var sum uint32
		for i, n := range next {
			next[i] = sum
			sum += n
		}
		for _, w := range from {
			d := byte(w >> shift)
			to[next[d]] = w
			next[d]++
		}
		from, to = to, from
	}
	if &from[0] != &words[0] {
		copy(words, from)
	}
}

// sortByHigh divides more words than scratch holds, in place, by the highest
// eight bits that differ, and sorts the parts.
func sortByHigh(words, scratch []uint64, top int) {
	shift := max(0, top-8)
	var counts, next, ends [256]int
	for _, w := range words {
		counts[byte(w>>shift)]++
	}
	sum := 0
	for d, n := range counts {
		next[d] = sum
		sum += n
		ends[d] = sum
	}
	for d := range next {
		for next[d] < ends[d] {
			w := words[next[d]]
			for home := byte(w >> shift); int(home) != d; home = byte(w >> shift) {
				words[next[home]], w = w, words[next[home]]
				next[home]++
			}
			words[next[d]] = w
			next[d]++
		}
	}
	start := 0
	for _, end := range ends {
		sortWords(words[start:end], scratch)
		start = end
	}
}
