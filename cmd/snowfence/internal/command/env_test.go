package command

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A store that closed its socket looked like a reader that had left, and
// its error was not told.
func TestOnlyAReaderThatLeftIsNoFailure(t *testing.T) {
	r, w, err := os.Pipe()
	tests.NoError(t, err, r.Close())
	defer w.Close()
	closed := &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	for _, failure := range []error{nil, closed} {
		var said strings.Builder
		e := New(nil, w, &said, nil)
		err := e.Run(func(_ *cobra.Command, _ []string, out *bufio.Writer) error {
			_, _ = out.WriteString("1\n")
			return failure
		})(nil, nil)
		code := e.Exit(nil, err)
		if failed := failure != nil; failed != (code == ExitFailed) || failed != (said.Len() > 0) {
			t.Errorf("%v: exit code %d, %q", failure, code, &said)
		}
	}
}

// lateReader reads what is written after a while.
type lateReader struct {
	bytes.Buffer
	began chan struct{}
}

func (l *lateReader) Write(b []byte) (int, error) {
	<-l.began
	return l.Buffer.Write(b)
}

// What does not fit is counted, and its reader hears of it; nothing else is
// lost or moved.
func TestLogBufferCountsWhatItDrops(t *testing.T) {
	out := &lateReader{began: make(chan struct{})}
	var told int
	b := &logBuffer{to: out, tell: func(n int) { told += n }}
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 5000
	for range lines {
		_, _ = b.Write(line)
	}
	if n := len(b.queue); n > mostLog {
		t.Errorf("%d bytes wait", n)
	}
	close(out.began)
	for end := time.Now().Add(time.Minute); ; {
		b.flush()
		b.mu.Lock()
		idle := b.idle == nil
		b.mu.Unlock()
		if idle || time.Now().After(end) {
			break
		}
	}
	if told < lines-2*1024 || told+bytes.Count(out.Bytes(), line) != lines {
		t.Errorf("dropped %d, read %d of %d", told, bytes.Count(out.Bytes(), line), lines)
	}
}

// The command line refuses the names that the library refuses, and no
// other.
func TestNamesAreThoseOfTheLibrary(t *testing.T) {
	s := tests.Must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	names := []string{"", "a\n", strings.Repeat("a", 64), strings.Repeat("a", 65), "ü", "..", "-"}
	for c := range 256 {
		names = append(names, "a"+string([]byte{byte(c)}))
	}
	for _, name := range names {
		_, want := scope.Namespaces(store.NewMemory()).Create(t.Context(), name, s, nil)
		if got := CheckName(name); (got == nil) != (want == nil) {
			t.Errorf("%q: %v, but the library says %v", name, got, want)
		}
	}
}

// psql prints a timestamptz with a space, and with an offset that can have
// no minutes.
func TestTimesAsDatabasesPrintThem(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2019-05-17 08:30:00":           time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC),
		"2019-05-17 08:30:01.5":         time.Date(2019, 5, 17, 8, 30, 1, 500e6, time.UTC),
		"2019-05-17 08:30:00+00":        time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC),
		"2019-05-17 08:30:00.123456+02": time.Date(2019, 5, 17, 6, 30, 0, 123456e3, time.UTC),
		"2019-05-17 08:30:00+05:30":     time.Date(2019, 5, 17, 3, 0, 0, 0, time.UTC),
		"2019-05-17T08:30:00-03:00":     time.Date(2019, 5, 17, 11, 30, 0, 0, time.UTC),
	} {
		if got, err := ParseTime("at", text); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "NULL", "1558081800", "2019-05-17 08:30:00+", "2019-05-17 08:30:00 UTC"} {
		tests.Fails(t, tests.ErrOf(ParseTime("at", text)), "%q", text)
	}
}
