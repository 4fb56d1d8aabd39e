package snowfence

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A wrong character, two that changed places, and equal ones that became others in two places are
// found, wherever they stand.
func TestCheckCharacterFinds(t *testing.T) {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		text := CrockfordCheck.Encode(ID(1<<59 + r.Uint64N(1<<59)))
		passes := func(wrong []byte) {
			if _, err := CrockfordCheck.Parse(string(wrong)); err == nil && string(wrong) != text {
				t.Errorf("%s passes for %s", wrong, text)
			}
		}
		for i := range text {
			for j := range text {
				b := []byte(text)
				b[i], b[j] = b[j], b[i]
				passes(b)
				for _, d := range []byte(digits) {
					b := []byte(text)
					if b[i] == b[j] {
						b[i], b[j] = d, d
						passes(b)
					}
				}
			}
		}
	}
}

// Every place has a weight of its own, none is 0: this is all that the promise needs.
func TestCheckWeightsDiffer(t *testing.T) {
	seen := map[byte]bool{'0': true}
	for n := range CrockfordCheck.Fixed().MaxLen() - 1 {
		weight := checkOf("1" + strings.Repeat("0", n))
		if seen[weight] {
			t.Errorf("the character %d places before the last has a weight of another", n+1)
		}
		seen[weight] = true
	}
	if seen['1'] {
		t.Error("a character has the weight of the check character, which is 1")
	}
}
