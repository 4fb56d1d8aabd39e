package snowfence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checker adds a check character to Crockford text in some way, and says whether text passes.
type checker struct {
	name  string
	add   func(text string) string
	valid func(text string) bool
}

// checkers are the ways that the page compares.
func checkers() []checker {
	weighted := func(name, alphabet string, modulus int, weight func(place, digit int) int) checker {
		sum := func(text string, places int) (n int, ok bool) {
			for i := range len(text) {
				d := strings.IndexByte(alphabet, text[i])
				if d < 0 {
					return 0, false
				}
				n += weight(len(text)-1-i+places, d)
			}
			return n % modulus, true
		}
		add := func(text string) string {
			n, _ := sum(text, 1)
			for d := range modulus {
				if (n+weight(0, d))%modulus == 0 {
					return text + alphabet[d:][:1]
				}
			}
			panic("no check character")
		}
		return checker{name, add, func(text string) bool {
			n, ok := sum(text, 0)
			return ok && n == 0
		}}
	}
	crockford := codecs[formCrockford].digits
	power := func(base, modulus, n int) int {
		p := 1
		for range n {
			p = p * base % modulus
		}
		return p
	}
	// Crockford's own: the remainder modulo 37, with five more symbols.
	remainder := func(text string) string {
		v, _ := Crockford.Parse(text)
		return text + (crockford + "*~$=U")[uint64(v)%37:][:1]
	}
	return []checker{
		{
			"crockfordcheck",
			func(text string) string { return text + string(checkOf(text)) },
			func(text string) bool { _, err := CrockfordCheck.Parse(text); return err == nil },
		},
		{"Crockford's, modulo 37", remainder, func(text string) bool {
			_, err := Crockford.Parse(text[:len(text)-1])
			return err == nil && remainder(text[:len(text)-1]) == text
		}},
		weighted("ISO 7064 MOD 37-2", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*", 37, func(place, digit int) int {
			n := digit * power(2, 37, place)
			if place == 0 {
				n += 36 // the remainder is 1
			}
			return n
		}),
		weighted("Luhn modulo 32", crockford, 32, func(place, digit int) int {
			if place%2 == 1 {
				return digit*2/32 + digit*2%32
			}
			return digit
		}),
	}
}

// mistakes change a text in all ways of a kind, or in n random ways.
func mistakes(r *rand.Rand) []mistake {
	digits := codecs[formCrockford].digits
	at := func(text string, yield func(string), from int, change func(b []byte, i int)) {
		for i := range len(text) - from {
			b := []byte(text)
			if change(b, i); string(b) != text {
				yield(string(b))
			}
		}
	}
	other := func(text string, yield func(string), places ...int) {
		at(text, yield, places[len(places)-1], func(b []byte, i int) {
			old := b[i]
			for _, p := range places {
				if b[i+p] != old {
					return
				}
			}
			for _, d := range []byte(digits) {
				if d == old {
					continue
				}
				for _, p := range places {
					b[i+p] = d
				}
				yield(string(b))
			}
			copy(b, text)
		})
	}
	return []mistake{
		{"one wrong character", true, func(text string, yield func(string)) { other(text, yield, 0) }},
		{"two neighbors change places (ab, ba)", true, func(text string, yield func(string)) {
			at(text, yield, 1, func(b []byte, i int) { b[i], b[i+1] = b[i+1], b[i] })
		}},
		{"two around a third change places (abc, cba)", true, func(text string, yield func(string)) {
			at(text, yield, 2, func(b []byte, i int) { b[i], b[i+2] = b[i+2], b[i] })
		}},
		{"any two change places", true, func(text string, yield func(string)) {
			for n := 1; n < len(text); n++ {
				at(text, yield, n, func(b []byte, i int) { b[i], b[i+n] = b[i+n], b[i] })
			}
		}},
		{"twins (aa, bb)", true, func(text string, yield func(string)) { other(text, yield, 0, 1) }},
		{"twins around a third (aca, bcb)", true, func(text string, yield func(string)) { other(text, yield, 0, 2) }},
		{"two wrong characters", false, func(text string, yield func(string)) {
			for range 50 {
				b := []byte(text)
				for b[0] == text[0] {
					b[0] = digits[r.IntN(16)]
				}
				i := 1 + r.IntN(len(b)-1)
				for b[i] == text[i] {
					b[i] = digits[r.IntN(32)]
				}
				yield(string(b))
			}
		}},
		{"a missing character", false, func(text string, yield func(string)) {
			for i := range text {
				yield(text[:i] + text[i+1:])
			}
		}},
	}
}

type mistake struct {
	name  string
	all   bool // all of them are found
	apply func(text string, yield func(wrong string))
}

// TestCheckCharacterFinds prints the table of docs/reference/specification.md with -v.
func TestCheckCharacterFinds(t *testing.T) {
	const ids = 400
	rows := map[string][]string{}
	var names []string
	for _, c := range checkers() {
		r := rand.New(rand.NewPCG(1, 2))
		tried, found := map[string]int{}, map[string]int{}
		for range ids {
			text := c.add(Crockford.Encode(ID(1<<59 + r.Uint64N(1<<59))))
			if r.IntN(2) == 0 { // twins are rare
				i := r.IntN(len(text) - 3)
				b := []byte(text)
				b[i+1], b[i+2] = b[i], b[i]
				text = c.add(string(b[:len(b)-1]))
			}
			if !c.valid(text) {
				t.Fatalf("%s: %s does not pass", c.name, text)
			}
			for _, m := range mistakes(r) {
				if !slices.Contains(names, m.name) {
					names = append(names, m.name)
				}
				m.apply(text, func(wrong string) {
					if wrong == text {
						return
					}
					if tried[m.name]++; !c.valid(wrong) {
						found[m.name]++
					} else if m.all && c.name == "crockfordcheck" {
						t.Errorf("%s: %s passes for %s", m.name, wrong, text)
					}
				})
			}
		}
		for _, name := range names {
			share := 100 * float64(found[name]) / float64(tried[name])
			rows[name] = append(rows[name], fmt.Sprintf("%.4g %%", share))
			if c.name == "crockfordcheck" && (tried[name] < 100 || share < 95) {
				t.Errorf("%s: %d of %d found", name, found[name], tried[name])
			}
		}
	}
	for _, name := range names {
		t.Logf("| %s | %s |", name, strings.Join(rows[name], " | "))
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
