package sparx

// stepWords is the number of key words of a step.
const stepWords = branches * rounds * 2

// schedule holds the keys twice, with some words folded, which means xored
// with the word before. Then the second word of a branch takes its key and
// the first word's at once, and the vector instructions xor three things at
// once.
type schedule struct {
	// enc folds the second word after each mixing: the mixing is l = x2 xor
	// x0 xor t, and r = l xor the early words.
	enc lanes

	// dec folds all second words but the first two, which are used last.
	dec lanes
}

// lanes has each word of a key schedule in all four lanes of a uint64, for
// swar.go and the vector instructions. The four words for the end stand
// where a ninth step's first round would: two at 96, two at 102.
type lanes [steps*stepWords + stepWords/2 + 2]uint64

// expand fills in the schedule of a key.
func (k *schedule) expand(key *[KeySize]byte) {
	var all words
	all.expand(key)
	defer clear(all[:])
	const end = steps * stepWords
	for i, w := range all {
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
