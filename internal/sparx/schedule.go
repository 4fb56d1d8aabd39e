package sparx

// stepWords is the number of key words of a step.
const stepWords = branches * rounds * 2

// schedule holds the keys of a cipher in the forms that the paths want: that of the
// specification, and two in which some words are folded, that is, xored with the word
// before them. Folding lets the second word of a branch take its key and that of the
// first one at the same time, without waiting until the first one has its own, and the
// vector instructions xor three things at once.
type schedule struct {
	words words

	// enc has the second word after each mixing folded: the mixing is l = x2 xor x0 xor t
	// and r = l xor what is known early.
	enc lanes

	// dec has all second words folded except for the two at the very beginning, which are
	// the last to be used.
	dec lanes
}

// lanes has each word of a key schedule in all four lanes of a uint64, as swar.go and the
// vector instructions want it. The four words for the end stand where the first round of
// a ninth step would have its words: two at 96 and two at 102.
type lanes [steps*stepWords + stepWords/2 + 2]uint64

// expand fills in the schedule of a key.
func (k *schedule) expand(key *[KeySize]byte) {
	k.words.expand(key)
	const end = steps * stepWords
	for i, w := range k.words {
		if i >= end+2 {
			i += stepWords/2 - 2
		}
		k.enc[i] = uint64(w) * everyLane
	}
	k.dec = k.enc
	for i := stepWords; i <= end; i += stepWords {
		k.enc[i+1] ^= k.enc[i]
	}
	for i := 2; i < len(k.dec); i += 2 {
		if i != stepWords/2 {
			k.dec[i+1] ^= k.dec[i]
		}
	}
}
