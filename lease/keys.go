package lease

import (
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// rotated returns the namespace's key IDs with those of a scheme added. IDs under different numbers
// never collide, whoever is behind in rotating; so the one rule is that a number means the same key
// for everybody and for ever. The first keys are an operator's to name, who creates the namespace:
// a lease only adds what comes after keys that are known.
func (n Namespace) rotated(s *snowfence.Scheme, operator bool) (keys []string, added bool, err error) {
	if s.Layout().Bits(snowfence.FieldKey) == 0 {
		return n.Keys, false, nil
	}
	fail := func(format string, args ...any) ([]string, bool, error) {
		args = append([]any{n.Name, snowfence.ErrKey}, args...)
		return nil, false, fmt.Errorf("lease: namespace %q: %w: "+format, args...)
	}
	keys = slices.Clone(n.Keys)
	for i, id := range s.KeyIDs() {
		known := ""
		if i < len(keys) {
			known = keys[i]
		}
		switch {
		case known != "" && (id == "" || id == known):
		case known != "":
			return fail("key %d is %s there and %s here: "+
				"give the keys in the order in which they came into use, and a new one last", i, known, id)
		case id == "":
			return fail("it does not know key %d, and no key is given for that number: give it too", i)
		case !operator && i < max(len(n.Keys), 1):
			return fail("it was made without key %d: create it again with its keys, which changes nothing else", i)
		case i < len(keys):
			keys[i], added = id, true
		default:
			keys, added = append(keys, id), true
		}
	}
	return keys, added, nil
}
