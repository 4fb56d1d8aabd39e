package sparx

// stepWords is the number of key words of a step.
const stepWords = branches * rounds * 2

// schedule holds the keys of a cipher in all the forms that the paths want.
type schedule struct {
	words words

	// In both of these a word stands in each of the four lanes of a uint64, as swar.go and the vector instructions want it. The four words for
	// the end stand where the first ones of a ninth step would: the first two at 96, the others at 102.
	plain lanes

	// folded is plain, with those words of the first branch that come after a mixing xored with the same words of the second branch. The mixing
	// xors the new second branch into the new first one. When that has its keys already, the first branch gets them too, and this takes them out
	// again. It saves an instruction where one of them can xor three things at once.
	folded lanes
}

// lanes has room for the first round's words of a ninth step.
type lanes [steps*stepWords + stepWords/2 + 2]uint64

// expand fills in the schedule of a key.
func (k *schedule) expand(key *[KeySize]byte) {
	k.words.expand(key)
	const end = steps * stepWords
	for i, w := range k.words {
		if i >= end+2 {
			i += stepWords/2 - 2
		}
		k.plain[i] = uint64(w) * everyLane
	}
	k.folded = k.plain
	for i := stepWords; i <= end; i += stepWords {
		k.folded[i] ^= k.plain[i+stepWords/2]
		k.folded[i+1] ^= k.plain[i+stepWords/2+1]
	}
}
