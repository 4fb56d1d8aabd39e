package ids

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// counter is a generator without a fence.
type counter struct {
	next  snowfence.ID
	stop  snowfence.ID // fails from here on, if not 0
	after func()       // called by each Fill
}

var errCounter = errors.New("no more")

func (c *counter) Fill(_ context.Context, dst []snowfence.ID) (int, error) {
	if c.after != nil {
		c.after()
	}
	for i := range dst {
		if c.stop != 0 && c.next == c.stop {
			return i, errCounter
		}
		dst[i] = c.next
		c.next++
	}
	return len(dst), nil
}

func numbers(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, from+i)
	}
	return b.String()
}

func TestStream(t *testing.T) {
	f := must(newFormatter("dec", false))
	for _, n := range []int{0, 1, streamBatch - 1, streamBatch, streamBatch + 1, 10 * streamBatch} {
		var out bytes.Buffer
		tests.NoError(t, stream(t.Context(), &counter{}, f, &out, int64(n)))
		if out.String() != numbers(0, n) {
			t.Errorf("%d IDs: wrong text", n)
		}
	}
}

func TestStreamWritesWhatWasMade(t *testing.T) {
	f := must(newFormatter("dec", false))
	const made = streamBatch + 7
	var out bytes.Buffer
	tests.WantErr(t, stream(t.Context(), &counter{stop: made}, f, &out, 1e9), errCounter, "the generator's error")
	if out.String() != numbers(0, made) {
		t.Error("IDs made before the failure are missing")
	}

	ctx, cancel := context.WithCancel(t.Context())
	out.Reset()
	g := &counter{after: cancel}
	tests.WantErr(t, stream(ctx, g, f, &out, 1e9), context.Canceled, "after Ctrl-C the error")
	if out.String() != numbers(0, int(g.next)) {
		t.Error("IDs made before Ctrl-C are missing")
	}
}

// failing accepts a few writes.
type failing int

func (w *failing) Write(b []byte) (int, error) {
	if *w--; *w < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestStreamStopsWithItsReader(t *testing.T) {
	f := must(newFormatter("dec", false))
	for writes := range failing(3) {
		tests.WantErr(t, stream(t.Context(), &counter{}, f, &writes, 1<<40), io.ErrClosedPipe, "")
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// fails reports a call without an error.
var fails = tests.Fails
