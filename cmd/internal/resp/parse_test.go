package resp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// encode writes a command as clients do.
func encode(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func texts(args [][]byte) (out []string) {
	for _, a := range args {
		out = append(out, string(a))
	}
	return out
}

// What is cut anywhere is waited for, and then parsed as if it had come at
// once.
func TestParseCutAnywhere(t *testing.T) {
	for _, want := range [][]string{
		{"PING"},
		{"SNOWFENCE.NEXT", "default", "COUNT", "10"},
		{"ECHO", "with\r\n$3\r\nbytes in it"},
		{"ECHO", ""},
		slices.Repeat([]string{"x"}, maxArgs),
		{"AUTH", strings.Repeat("t", maxArg)},
	} {
		whole := encode(want...)
		for i := range whole {
			if args, n, err := parse([]byte(whole[:i]), nil); n != 0 || err != nil {
				t.Fatalf("%q: got %q, %d, %v", whole[:i], args, n, err)
			}
		}
		for _, rest := range []string{"", "*1\r\n$4\r\nPING\r\n", "\x00"} {
			args, n, err := parse([]byte(whole+rest), nil)
			if err != nil || n != len(whole) || !slices.Equal(texts(args), want) {
				t.Errorf("%q: got %q, %d, %v", want, args, n, err)
			}
		}
	}
}

// FuzzParse: no input makes the parser panic, hang, read past its input, or
// ask for more than a command may have; and what it parses is what it says
// when it is written again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "\r\n", "PING\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$4\r\nPING\r\n", encode("SNOWFENCE.NEXT", "default"), "*1\r\n$4\r\nPINGxx",
		"*2\r\n$1\r\na\r\n+b\r\n", "*1\r\n$\r\n", "*\r\n", "*1\n", "a b  c\n", "*99999999999999999999\r\n", "*1\r\n$5000\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		args, n, err := parse(b, nil)
		switch {
		case !bytes.Equal(b, before):
			t.Fatal("the input was changed")
		case n < 0 || n > len(b):
			t.Fatalf("a command of %d bytes in %d", n, len(b))
		case err != nil:
			if n != 0 || !errors.Is(err, errProtocol) {
				t.Fatalf("%d, %v", n, err)
			}
			return
		case n == 0:
			if len(b) >= maxBytes {
				t.Fatalf("%d bytes, and more are waited for", len(b))
			}
			return
		}
		again, k, err := parse([]byte(encode(texts(args)...)), nil)
		if len(args) > 0 && (err != nil || k == 0 || !slices.Equal(texts(again), texts(args))) {
			t.Fatalf("%q written again is %q, %v", args, again, err)
		}
		// The parser sees no more than the command: what follows it changes
		// nothing.
		if short, m, err := parse(b[:n:n], nil); err != nil || m != n || !slices.Equal(texts(short), texts(args)) {
			t.Fatalf("%q alone is %q, %d, %v", args, short, m, err)
		}
	})
}
