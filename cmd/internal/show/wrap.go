package show

import (
	"strings"
	"unicode/utf8"
)

// Columns is how wide lines for people are at most, where they have more than one word.
const Columns = 80

// Wrap breaks text between words into lines of at most [Columns]. The first line has something of
// so many columns before it already, and the others get an indent.
func Wrap(text string, before, indent int) string {
	var b strings.Builder
	at := before
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case word != "" && at+1+n > Columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
