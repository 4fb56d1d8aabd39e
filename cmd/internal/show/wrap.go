package show

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Columns is how wide lines for people are at most, where they have more
// than one word.
const Columns = 80

// Wrap breaks text between words into lines of at most [Columns]. The first
// line has something of so many columns before it already, and the others
// get an indent.
func Wrap(text string, before, indent int) string {
	var b []byte
	at := before
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case word != "" && at+1+n > Columns:
			b = append(bytes.TrimRight(b, " "), '\n')
			b = append(b, strings.Repeat(" ", indent)...)
			at = indent
		default:
			b = append(b, ' ')
			at++
		}
		b = append(b, word...)
		at += n
	}
	return string(b)
}

// WrapCommand breaks a command between words, outside of quotes, as a shell
// reads it.
func WrapCommand(line string) string {
	const indent = "    "
	for i := min(len(line), Columns-1); len(line) > Columns && i > len(indent); i-- {
		head := line[:i-1]
		if line[i-1] == ' ' && strings.Count(head, "'")%2 == 0 && strings.Count(head, `"`)%2 == 0 {
			return head + " \\\n" + WrapCommand(indent+line[i:])
		}
	}
	return line
}
