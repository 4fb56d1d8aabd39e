package resp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
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

// A client that asks for much and never reads is let go, the memory it
// takes is bounded, and others are served meanwhile.
func TestClientThatNeverReads(t *testing.T) {
	s, addr := start(t, Config{Slow: 100 * time.Millisecond})
	c := must(net.Dial("tcp", addr))
	defer c.Close()
	ask := encode("SNOWFENCE.NEXT", "default", "COUNT", "1000000")
	_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
	for range 100 {
		if _, err := io.WriteString(c, ask); err != nil {
			break // it was let go
		}
	}
	other := dial(t, addr)
	other.id(other.do("SNOWFENCE.NEXT", "default"))
	for deadline := time.Now().Add(time.Minute); s.Connections.Load() > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a client that never reads is still there")
		}
	}
}

// FuzzConnection: whatever bytes come in, the server answers or closes, and
// goes on.
func FuzzConnection(f *testing.F) {
	st := store.NewMemory()
	sc := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(context.Background(), "default", sc, nil))
	for name, d := range map[string]sequence.Definition{"orders": {}, "strict": {Mode: sequence.Strict}} {
		noError(f, sequence.Create(context.Background(), st, name, d))
	}
	service := server.New(st, server.Options{})
	f.Cleanup(func() { _ = service.Close(context.Background()) })
	a := server.Open()
	s := New(bounded(Config{Service: service, Auth: func() *server.Auth { return a }, Version: "fuzz"}))
	for _, args := range [][]string{
		{"PING"},
		{"HELLO", "3", "AUTH", "a", "b", "SETNAME", "c"},
		{"SNOWFENCE.NEXT", "default", "COUNT", "3", "RUNS"},
		{"SNOWFENCE.DECODE", "default", "1"},
		{"SNOWFENCE.RANGE", "default", "1", "2"},
		{"CLIENT", "SETINFO", "LIB-NAME", "x"},
		{"COMMAND", "INFO"},
		{"INFO"},
		{"RESET"},
		{"SELECT", "0"},
		{"INCR", "orders"},
		{"INCRBY", "strict", "1000000"},
		{"GET", "orders"},
		{"EXPIRE", "orders:20261122", "86400", "NX"},
		{"PTTL", "orders"},
		{"MULTI"},
		{"EXEC"},
		{"DISCARD"},
	} {
		f.Add([]byte(encode(args...)))
		f.Add([]byte(strings.Repeat(encode(args...), 5)))
	}
	f.Add([]byte("multi\r\nincr orders\r\nincr orders\r\nget orders\r\nexec\r\nincr orders\r\n"))
	f.Add([]byte("multi\r\nmulti\r\nset orders 1\r\nexec\r\nexec\r\nmulti\r\nincr strict\r\nreset\r\n"))
	f.Add([]byte("snowfence.next default\r\nsnowfence.next default\r\nclient\r\n"))
	place := s.Enter(nil, nil, 1)
	f.Fuzz(func(t *testing.T, b []byte) {
		theirs, ours := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&conn{srv: s, c: theirs, proto: 2, id: a.Anyone(), place: place}).serve()
		}()
		go func() {
			_, _ = ours.Write(b)
			_, _ = ours.Write([]byte("\r\nQUIT\r\n"))
			// What was cut off waits for its end: that is when the client
			// goes.
			_ = ours.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		}()
		_, _ = io.Copy(io.Discard, ours)
		ours.Close()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("the server hangs after %q", b)
		}
	})
}
