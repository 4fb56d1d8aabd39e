package etcdstore

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// keyspace is the prefix of all keys. Below it are
//
//	id                          who this store is: the version of this layout, a space, and a random text
//	r/namespace/node            a record
//
// Namespaces are percent-encoded.
type keyspace string

func (p keyspace) id() string { return string(p) + "id" }

func (p keyspace) record(k store.Key) string {
	return string(p) + "r/" + escape(k.Namespace) + "/" + sortable(k.Node)
}

// records returns the range of the records of nodes first to last.
func (p keyspace) records(namespace string, nodes snowfence.NodeRange) (from, end string) {
	base := string(p) + "r/" + escape(namespace) + "/"
	return base + sortable(nodes.From), base + sortable(nodes.Until)
}

// after returns where the records begin of the namespaces that sort after one.
func (p keyspace) after(namespace string) string { return string(p) + "r/" + escape(namespace) + "0" } // after a slash

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

// nodeOf returns the node at the end of a key.
func nodeOf(key string) (int64, error) {
	text := key[strings.LastIndexByte(key, '/')+1:]
	if n, err := strconv.ParseUint(text, 16, 64); err == nil && sortable(int64(n^1<<63)) == text {
		return int64(n ^ 1<<63), nil
	}
	return 0, fmt.Errorf("the key %q is none of this program's: give leases a prefix of their own", key)
}

// sortable writes a number as 16 digits that sort as the numbers do.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

// escape percent-encodes all but letters, digits, '-', '_' and '.'. It must never change,
// because stored keys are compared with it.
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
