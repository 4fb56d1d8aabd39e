package redisstore

import (
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// format begins the text of a record. The rest is [store.Encode], of which
// swap.lua knows the nonce.
const format = "3"

func encode(r store.Record) string { return format + store.Encode(r, "") }

// decode is the inverse of encode.
func decode(k store.Key, text string) (store.Record, error) {
	rest, ok := strings.CutPrefix(text, format)
	if !ok {
		return store.Record{}, fmt.Errorf("the record has the format %.1q, and this program knows %q: use its "+
			"program, or another prefix", text, format)
	}
	r, _, err := store.Decode(k, rest)
	return r, err
}
