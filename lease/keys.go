package lease

import (
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// rotated returns the secret IDs of the namespace and of a scheme. IDs
// under different numbers never collide, even if a program rotates late. So
// there is one rule: a number means the same secret for everybody, for
// ever. The creator of the namespace names its first secrets. A lease only
// adds secrets after those.
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
			return fail("key number %d is secret %s there and %s here: "+
				"give the secrets in the order in which they came into use, and a new one last", i, known, id)
		case id == "":
			return fail("it does not know the secret of key number %d, and none is given: give that secret, too", i)
		case !operator && i < max(len(n.Keys), 1):
			return fail("it was made without key number %d: "+
				"create it again with its secrets; nothing else changes", i)
		case i < len(keys):
			keys[i], added = id, true
		default:
			keys, added = append(keys, id), true
		}
	}
	return keys, added, nil
}
