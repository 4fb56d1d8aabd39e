// Columns fails where a Go file has lines that are too long to read:
// comments over 76 columns, and code over 120. A tab counts four. Excepted
// are generated files, raw strings (SQL, pages), rows of tables in tests,
// the output of examples, code inside comments, and words without a space
// to break at.
//
//	columns FILE...
package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	commentWidth = 76
	codeWidth    = 120
	tabWidth     = 4
)

// verbatim is a line of a comment that cannot be broken: code, or a
// directive.
var verbatim = regexp.MustCompile(`^//(\t|[a-z]+:)`)

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func main() {
	bad := false
	for _, name := range os.Args[1:] {
		src, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "columns:", err)
			os.Exit(1)
		}
		for _, l := range long(src, strings.HasSuffix(name, "_test.go")) {
			bad = true
			fmt.Printf("%s:%d: %s\n", name, l.number, l.why)
		}
	}
	if bad {
		os.Exit(1)
	}
}

// line is a line that is too long.
type line struct {
	number int // from 1
	why    string
}

// long returns the lines of a file that are too long, in their order.
func long(src []byte, test bool) (out []line) {
	if generated.Match(src) {
		return nil
	}
	comment, raw := kinds(src)
	output := false // of an example: its comment says what it prints
	for i, text := range bytes.Split(src, []byte("\n")) {
		n, s := i+1, string(text)
		width, limit, what := columns(s), codeWidth, "code"
		if comment[n] {
			limit, what = commentWidth, "comment"
		}
		bare := strings.TrimSpace(s)
		output = comment[n] && (output || strings.HasPrefix(bare, "// Output:"))
		switch {
		case width <= limit, raw[n], output:
		case comment[n] && (verbatim.MatchString(bare) || !strings.Contains(strings.TrimPrefix(bare, "// "), " ")):
		case !comment[n] && test && (strings.HasPrefix(bare, "{") || strings.HasPrefix(bare, `"`)):
		default:
			out = append(out, line{n, fmt.Sprintf("%s of %d columns, more than %d", what, width, limit)})
		}
	}
	return out
}

// kinds returns which lines, counted from 1, are comments alone, and which
// have a part of a raw string.
func kinds(src []byte) (comment, raw map[int]bool) {
	comment, raw = map[int]bool{}, map[int]bool{}
	files := token.NewFileSet()
	f := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(f, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return comment, raw
		}
		p := files.Position(pos)
		before := src[p.Offset-p.Column+1 : p.Offset]
		switch {
		case tok == token.COMMENT && len(bytes.TrimSpace(before)) == 0:
			for i := range strings.Count(lit, "\n") + 1 {
				comment[p.Line+i] = true
			}
		case tok == token.STRING && lit[0] == '`':
			for i := range strings.Count(lit, "\n") + 1 {
				raw[p.Line+i] = true
			}
		}
	}
}

// columns returns how wide a line is.
func columns(s string) int { return utf8.RuneCountInString(s) + (tabWidth-1)*strings.Count(s, "\t") }
