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

// namespaces returns the range of the records of all namespaces after one; "" means all.
func (p keyspace) namespaces(after string, any bool) (from, end string) {
	from = string(p) + "r/"
	if !any {
		from += escape(after) + "0" // what follows a slash
	}
	return from, string(p) + "r0"
}

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
	if len(text) > 1 {
		if n, err := strconv.ParseUint(text[1:], 16, 64); err == nil && sortable(int64(n)) == text {
			return int64(n), nil
		}
	}
	return 0, fmt.Errorf("the key %q is none of this program's: give leases a prefix of their own", key)
}

// sortable writes a number so that texts sort as the numbers do: a letter for the number of
// digits, and hexadecimal digits.
func sortable(n int64) string {
	digits := strconv.FormatUint(uint64(n), 16)
	if n < 0 {
		return "-" + digits // always 16
	}
	return string(rune('a'+len(digits)-1)) + digits
}

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
