package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns the mistake in the name of a namespace or sequence. It
// has 1 to 64 letters, digits, '-', '_' and '.'.
func CheckName(name string) error {
	if name == "" || len(name) > longestName {
		return fmt.Errorf("namespace %.100q: a name has 1 to %d characters", name, longestName)
	}
	if name == "." || name == ".." || name == "-" {
		return fmt.Errorf("namespace %q: paths, shells and programs would misread this name: use another one", name)
	}
	for _, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
		if !ok {
			return fmt.Errorf("namespace %q: a name has only letters, digits, '-', '_' and '.'", name)
		}
	}
	return nil
}

// Plain reports whether every store can keep a text, and every terminal can
// show it as it is: for labels and the reasons of vetoes.
func Plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsFunc(text, commands) }

// commands reports whether a character commands a terminal: it moves, hides
// or turns round what stands beside it.
func commands(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Format is the version of the data in a store. A release that changes it
// raises the number, and a program refuses a namespace with a later one.
const Format = 1

// Servers is the name under which servers keep records of themselves. No
// namespace can have it.
const Servers = "##servers"
