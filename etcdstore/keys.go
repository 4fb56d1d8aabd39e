package etcdstore

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// keyspace is the prefix of all keys. Below it are
//
//	id                          identity: the version of this layout, a space, and a random text
//	r/namespace/node            a record
//
// Namespaces are percent-encoded.
type keyspace string

func (p keyspace) idKey() string { return string(p) + "id" }

func (p keyspace) recordKey(k store.Key) string {
	return string(p) + "r/" + escape(k.Namespace) + "/" + store.NodeText(k.Node)
}

// recordRange returns how the keys of a namespace begin, and the range of
// its nodes' keys.
func (p keyspace) recordRange(namespace string, nodes snowfence.NodeRange) (base, from, end string) {
	base = string(p) + "r/" + escape(namespace) + "/"
	return base, base + store.NodeText(nodes.From), base + store.NodeText(nodes.Until)
}

// keyAfter returns the first key after the records of a namespace.
func (p keyspace) keyAfter(namespace string) string {
	return string(p) + "r/" + escape(namespace) + "0"
} // after a slash

// namespaceOf returns the namespace of a record's key.
func (p keyspace) namespaceOf(key string) (string, error) {
	name, _, ok := strings.Cut(strings.TrimPrefix(key, string(p)+"r/"), "/")
	if ok {
		if ns, err := url.PathUnescape(name); err == nil {
			return ns, nil
		}
	}
	return "", fmt.Errorf("the key %q is none of this program's: give leases a prefix of their own", key)
}

// escape percent-encodes all but letters, digits, '-', '_' and '.'. It must
// never change, because stored keys are compared with it.
func escape(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
