package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/snowfence/snowfence/lease/store"
)

// escaped returns a text for a terminal. What a store or a server sent may have characters that
// command it: they are written as Go writes them, but for those in keep.
func escaped(text, keep string) string {
	if store.Plain(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if c := text[:n]; strings.ContainsRune(keep, r) || store.Plain(c) {
			b.WriteString(c)
		} else {
			quoted := strconv.QuoteToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return b.String()
}
