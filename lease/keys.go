package lease

import (
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// rotated returns the namespace's key IDs with those of a scheme added. IDs under different numbers never collide, whoever is behind in rotating; so
// the one rule is that a number means the same key for everybody and for ever.
func (n Namespace) rotated(s *snowfence.Scheme) (keys []string, added bool, err error) {
	if s.Layout().Bits(snowfence.FieldKey) == 0 {
		return n.Keys, false, nil
	}
	keys = slices.Clone(n.Keys)
	for i, id := range s.KeyIDs() {
		switch {
		case i == len(keys):
			keys, added = append(keys, id), true
		case id == "" || id == keys[i]:
		case keys[i] == "":
			keys[i], added = id, true
		default:
			return nil, false, fmt.Errorf("lease: namespace %q: %w: key %d is %s there and %s here: give the keys in the order in which they came into use, and a new one last",
				n.Name, snowfence.ErrKey, i, keys[i], id)
		}
	}
	return keys, added, nil
}
