package lease

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText returns what is wrong with a label or with the reason of a veto, for servers: both
// are shown to people, on terminals too. The error matches [ErrInvalid].
func CheckText(text string) error {
	if !plain(text) {
		return invalidf("lease: the text %q is not UTF-8, or has control characters: leave them out", clip(text))
	}
	return nil
}

// plain reports whether every store can keep a text, and every terminal can show it as it is.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, commands) }

// commands reports whether a character commands a terminal: it moves, hides or turns round
// what stands beside it.
func commands(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// shown is a text of a record for an error: one with control characters is quoted.
func shown(s string) string {
	if plain(s) {
		return s
	}
	return strconv.Quote(s)
}

func clip(s string) string { return s[:min(len(s), 100)] }
