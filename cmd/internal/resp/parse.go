package resp

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits of one command. They are small, because nothing that is asked of
// this server is long; a token is the longest argument.
const (
	maxArgs   = 64
	maxArg    = 4 << 10
	maxInline = 4 << 10
	maxBytes  = 16 << 10 // of a command as it stands on the wire
)

// errProtocol is a stream that cannot be followed any further: after the
// reply the connection is closed.
var errProtocol = errors.New("protocol error")

func protocolf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// parse reads the command at the start of b. It appends the arguments,
// which are parts of b, to args, and returns the command's length; 0 means
// that b lacks a part of it. A command without arguments is an empty line:
// skip it.
func parse(b []byte, args [][]byte) ([][]byte, int, error) {
	if len(b) == 0 {
		return args, 0, nil
	}
	if b[0] != '*' {
		return parseInline(b, args)
	}
	count, n, err := parseLength(b, maxArgs, "arguments")
	if n == 0 || err != nil {
		return args, 0, err
	}
	for range count {
		if n >= len(b) {
			return args, 0, checkLength(b)
		}
		if b[n] != '$' {
			return args, 0, protocolf("expected '$', got %q", b[n])
		}
		size, k, err := parseLength(b[n:], maxArg, "bytes of an argument")
		if err != nil {
			return args, 0, err
		}
		if k == 0 || n+k+size+2 > len(b) {
			return args, 0, checkLength(b)
		}
		start := n + k
		n = start + size + 2
		if b[n-2] != '\r' || b[n-1] != '\n' {
			return args, 0, protocolf("an argument of %d bytes does not end where it should", size)
		}
		args = append(args, b[start:start+size])
	}
	return args, n, nil
}

// checkLength refuses commands that are too long before they are all there.
func checkLength(b []byte) error {
	if len(b) >= maxBytes {
		return protocolf("a command has more than %d bytes", maxBytes)
	}
	return nil
}

// parseLength reads a number behind a type byte, and returns the length of
// the line; 0 when a part of the line is missing.
func parseLength(b []byte, limit int, what string) (value, n int, err error) {
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			value = value*10 + int(c-'0')
			if value > limit {
				return 0, 0, protocolf("more than %d %s", limit, what)
			}
		case c == '\r' && i > 1:
			if i+1 == len(b) {
				return 0, 0, nil
			}
			if b[i+1] != '\n' {
				return 0, 0, protocolf("a line does not end with CR LF")
			}
			return value, i + 2, nil
		case c == '-' && i == 1:
			return 0, 0, protocolf("a negative number of %s", what)
		default:
			return 0, 0, protocolf("a number of %s has the character %q", what, c)
		}
	}
	return 0, 0, nil
}

// parseInline reads a person's line in a terminal: words with spaces
// between them.
func parseInline(b []byte, args [][]byte) ([][]byte, int, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 || end > maxInline {
		if len(b) > maxInline {
			return args, 0, protocolf("a line has more than %d bytes", maxInline)
		}
		return args, 0, nil
	}
	for word := range bytes.FieldsSeq(b[:end]) {
		if len(args) == maxArgs {
			return args, 0, protocolf("more than %d arguments", maxArgs)
		}
		args = append(args, word)
	}
	return args, end + 1, nil
}
