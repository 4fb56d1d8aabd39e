package command

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/snowfence/snowfence/lease/store"
)

// Escaped returns a text for a terminal. Texts of a store or a server may
// have characters that command it: they are written as Go writes them, but
// for those in keep.
func Escaped(text, keep string) string {
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

// Interruptible is a reader that ends with a context, while a read of a
// terminal or a pipe goes on: nothing else ends that.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	in, out := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(out, r)
		_ = out.CloseWithError(err)
	}()
	return in
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
