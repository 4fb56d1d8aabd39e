package resp

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// peer is a client that reads replies as values.
type peer struct {
	*testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *peer {
	t.Helper()
	c := must(net.Dial("tcp", addr))
	t.Cleanup(func() { c.Close() })
	noError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) send(text string) {
	p.Helper()
	must(io.WriteString(p.c, text))
}

// do sends a command and returns its reply: string, int64, error, nil, or
// []any; maps come as lists.
func (p *peer) do(args ...string) any {
	p.Helper()
	p.send(encode(args...))
	return p.reply()
}

func (p *peer) reply() any {
	p.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil || len(line) < 3 || !strings.HasSuffix(line, "\r\n") {
		p.Fatalf("reply %q: %v", line, err)
	}
	text := line[1 : len(line)-2]
	switch line[0] {
	case '+':
		return text
	case '-':
		return fmt.Errorf("%s", text)
	case '_':
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.Fatalf("reply %q: %v", line, err)
	}
	switch {
	case line[0] == ':':
		return n
	case line[0] == '$' && n < 0:
		return nil
	case line[0] == '$':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(p.r, b); err != nil || string(b[n:]) != "\r\n" {
			p.Fatalf("bulk %q: %v", b, err)
		}
		return string(b[:n])
	case line[0] == '%':
		n *= 2
	case line[0] != '*':
		p.Fatalf("reply %q", line)
	}
	list := []any{}
	for range n {
		list = append(list, p.reply())
	}
	return list
}

// fails checks that a reply is an error that begins with a code.
func (p *peer) fails(reply any, code string) {
	p.Helper()
	if err, ok := reply.(error); !ok || !strings.HasPrefix(err.Error(), code+" ") {
		p.Errorf("got %v, want an error %s", reply, code)
	}
}

func (p *peer) id(reply any) snowfence.ID {
	p.Helper()
	text, _ := reply.(string)
	id, err := snowfence.Decimal.Parse(text)
	if err != nil {
		p.Fatalf("%v is no ID: %v", reply, err)
	}
	return id
}

func TestNext(t *testing.T) {
	_, addr := start(t, Config{})
	p := dial(t, addr)
	last := p.id(p.do("SNOWFENCE.NEXT", "default"))
	for _, n := range []int{1, 2, 1000, 100_000} {
		list, ok := p.do("snowfence.next", "default", "count", strconv.Itoa(n)).([]any)
		if !ok || len(list) != n {
			t.Fatalf("COUNT %d: %d replies", n, len(list))
		}
		for _, reply := range list {
			id := p.id(reply)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
		}
	}
	runs := p.do("SNOWFENCE.NEXT", "default", "COUNT", "10000", "RUNS").([]any)
	total := int64(0)
	for _, reply := range runs {
		run := reply.([]any)
		r := snowfence.Run{First: p.id(run[0]), Last: p.id(run[1]), Step: run[2].(int64)}
		if r.First <= last {
			t.Fatalf("run %+v after %d", r, last)
		}
		last, total = r.Last, total+r.Len()
	}
	if total != 10_000 {
		t.Errorf("%d IDs in runs, want 10000", total)
	}
	for _, count := range []string{"0", "-1", "1000001", "x", "99999999999999999999"} {
		p.fails(p.do("SNOWFENCE.NEXT", "default", "COUNT", count), "ERR")
	}
	p.fails(p.do("SNOWFENCE.NEXT", "other"), "NONAMESPACE")
	p.fails(p.do("SNOWFENCE.NEXT", "a b"), "ERR")
}

// Replies to a pipeline come in its order, wherever the network cuts it.
func TestPipelineInPieces(t *testing.T) {
	_, addr := start(t, Config{})
	p := dial(t, addr)
	var text strings.Builder
	for i := range 500 {
		text.WriteString(encode("ECHO", strconv.Itoa(i)))
		text.WriteString(encode("SNOWFENCE.NEXT", "default"))
	}
	go func() {
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+len(rest)%97)
			if _, err := io.WriteString(p.c, rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}()
	last := snowfence.ID(0)
	for i := range 500 {
		if got := p.reply(); got != strconv.Itoa(i) {
			t.Fatalf("reply %v at %d", got, i)
		}
		id := p.id(p.reply())
		if id <= last {
			t.Fatalf("%d after %d", id, last)
		}
		last = id
	}
}

func TestDecodeAndRange(t *testing.T) {
	_, addr := start(t, Config{})
	p := dial(t, addr)
	got := fmt.Sprint(p.do("SNOWFENCE.DECODE", "default", "2104672976770170879"))
	want := "[id 2104672976770170879 time 2026-09-28T20:41:55.251Z unix_ms 1790628115251 tick 501793140594 node " +
		"1023 datacenter 31 worker 31 sequence 4095]"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if prefixed := fmt.Sprint(p.do("SNOWFENCE.DECODE", "default", "ord_2104672976770170879")); prefixed != got {
		t.Errorf("with a prefix: %s", prefixed)
	}
	p.fails(p.do("SNOWFENCE.DECODE", "default", "abc"), "ERR")
	p.fails(p.do("SNOWFENCE.DECODE", "default", "-5"), "ERR")
	r := p.do("SNOWFENCE.RANGE", "default", "2026-09-28T20:41:55.251Z", "1790628115252").([]any)
	if lo, hi := p.id(r[0]), p.id(r[1]); lo != 2104672976770170879&^(1<<22-1) || hi != lo+1<<22 {
		t.Errorf("range %d to %d", lo, hi)
	}
	p.fails(p.do("SNOWFENCE.RANGE", "default", "yesterday", "0"), "ERR")
	p.fails(p.do("SNOWFENCE.RANGE", "default", "2", "1"), "ERR")
}

func TestHello(t *testing.T) {
	_, addr := start(t, Config{})
	p := dial(t, addr)
	if list, ok := p.do("HELLO", "3", "SETNAME", "me").([]any); !ok || len(list) != 14 || list[5] != int64(3) {
		t.Errorf("HELLO 3: %v", list)
	}
	if name := p.do("CLIENT", "GETNAME"); name != "me" {
		t.Errorf("name %v", name)
	}
	p.fails(p.do("HELLO", "4"), "NOPROTO")
	p.fails(p.do("HELLO", "3", "SETNAME", "a b"), "ERR")
	p.fails(p.do("CLIENT", "KILL", "x"), "ERR")
	p.fails(p.do("AUTH", "x"), "ERR")
	if list, _ := p.do("COMMAND").([]any); len(list) != len(newTable()) {
		t.Errorf("COMMAND: %v", list)
	}
	p.fails(p.do("COMMAND", "DOCS"), "ERR")
	if s, _ := p.do("INFO").(string); !strings.Contains(s, "loading:0\r\n") {
		t.Errorf("INFO: %q", s)
	}
	if got := p.do("RESET"); got != "RESET" {
		t.Error(got)
	}
	if name := p.do("CLIENT", "GETNAME"); name != nil {
		t.Errorf("name %v after RESET", name)
	}
}

func token(name, secret string, f func(*server.Token)) server.Token {
	sum := sha256.Sum256([]byte(secret))
	t := server.Token{Name: name, SHA256: hex.EncodeToString(sum[:])}
	if f != nil {
		f(&t)
	}
	return t
}

func TestTokens(t *testing.T) {
	a := must(server.NewAuth([]server.Token{
		token("all", "secret-1", nil),
		token("reader", "secret-2", func(t *server.Token) { t.Verbs = []server.Verb{server.VerbRead} }),
		token("elsewhere", "secret-3", func(t *server.Token) { t.Namespaces = []string{"other*"} }),
		token("slow", "secret-4", func(t *server.Token) { t.Rate, t.Burst = 0.001, 10 }),
	}))
	_, addr := start(t, Config{Auth: func() *server.Auth { return a }})
	p := dial(t, addr)
	for _, args := range [][]string{
		{"PING"},
		{"SNOWFENCE.NEXT", "default"},
		{"SNOWFENCE.DECODE", "default", "1"},
		{"INFO"},
		{"HELLO", "3"},
		{"CLIENT", "LIST"},
	} {
		p.fails(p.do(args...), "NOAUTH")
	}
	p.fails(p.do("AUTH", "wrong"), "WRONGPASS")
	p.fails(p.do("AUTH", "user", ""), "WRONGPASS")
	if got := p.do("AUTH", "secret-1"); got != "OK" {
		t.Fatal(got)
	}
	p.id(p.do("SNOWFENCE.NEXT", "default"))
	p.fails(p.do("AUTH", "any", "wrong"), "WRONGPASS")
	p.fails(p.do("SNOWFENCE.NEXT", "default"), "NOAUTH") // after a failed AUTH the client is unknown

	if list, ok := p.do("HELLO", "2", "AUTH", "any", "secret-2").([]any); !ok || len(list) != 14 {
		t.Fatal(list)
	}
	p.fails(p.do("SNOWFENCE.NEXT", "default"), "NOPERM")
	p.do("SNOWFENCE.DECODE", "default", "1")
	p.fails(p.do("SNOWFENCE.NEXT", "default"), "NOPERM") // the namespace of the last command opens nothing
	p.do("AUTH", "secret-3")
	p.fails(p.do("SNOWFENCE.NEXT", "default"), "NOPERM")
	p.fails(p.do("SNOWFENCE.NEXT", "others"), "NONAMESPACE")
	p.do("AUTH", "secret-4")
	p.fails(p.do("SNOWFENCE.NEXT", "default", "COUNT", "11"), "LIMIT")
	p.do("SNOWFENCE.NEXT", "default", "COUNT", "10")
	p.fails(p.do("SNOWFENCE.NEXT", "default"), "LIMIT")
	p.fails(p.do("SNOWFENCE.DECODE", "default", "1"), "LIMIT")
	p.fails(p.do("SNOWFENCE.NEXT", "missing"), "LIMIT") // before the store is asked

	// One connection tried half a million tokens a second.
	guesser, began := dial(t, addr), time.Now()
	guesser.send(strings.Repeat(encode("AUTH", "guess"), 100))
	for range mostWrong {
		guesser.fails(guesser.reply(), "WRONGPASS")
	}
	if rest, err := io.ReadAll(guesser.r); len(rest) > 0 || time.Since(began) < mostWrong*wrongDelay {
		t.Errorf("after %v: %q, %v", time.Since(began), rest, err)
	}
}

// A token whose connections leave no place for others gets no more; those
// that it has go on.
func TestShareOfATokenOfConnections(t *testing.T) {
	a := must(server.NewAuth([]server.Token{token("shop", "secret-1", nil), token("cart", "secret-2", nil)}))
	_, addr := start(t, Config{Auth: func() *server.Auth { return a }, MaxConns: 5})
	first := dial(t, addr)
	for range 3 {
		if got := dial(t, addr).do("AUTH", "secret-1"); got != "OK" {
			t.Fatal(got)
		}
	}
	if got := first.do("AUTH", "secret-1"); got != "OK" { // the fourth of five
		t.Fatal(got)
	}
	one := dial(t, addr)
	one.fails(one.do("AUTH", "secret-1"), "LIMIT")
	if rest, err := io.ReadAll(one.r); len(rest) > 0 || err != nil {
		t.Errorf("the connection stays: %q, %v", rest, err)
	}
	first.id(first.do("SNOWFENCE.NEXT", "default"))
	if got := first.do("AUTH", "secret-2"); got != "OK" {
		t.Errorf("another token: %v", got)
	}
}

// One user of a host took all connections of an agent's socket, without a
// word.
func TestShareOfAUserOfConnections(t *testing.T) {
	a, all := server.NewHostAuth(1), 0
	user := func(net.Conn) *server.Identity {
		all++
		return a.User(uint32(1000 + all/6)) // the sixth connection is of another one
	}
	s, addr := start(t, Config{Auth: func() *server.Auth { return a }, User: user, MaxConns: 5})
	for range 4 {
		first := dial(t, addr)
		first.do("RESET")
		first.id(first.do("SNOWFENCE.NEXT", "default"))
	}
	more := dial(t, addr)
	more.fails(more.reply(), "ERR")
	other := dial(t, addr)
	other.id(other.do("SNOWFENCE.NEXT", "default"))
	if n := s.Connections.Load(); n != 5 {
		t.Errorf("%d connections", n)
	}
}

func TestLimitOfConnections(t *testing.T) {
	s, addr := start(t, Config{MaxConns: 2})
	a, b := dial(t, addr), dial(t, addr)
	a.do("PING")
	b.do("PING")
	dial(t, addr).fails(dial(t, addr).reply(), "ERR")
	if a.do("QUIT") != "OK" {
		t.Error("QUIT")
	}
	for deadline := time.Now().Add(time.Minute); s.Connections.Load() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a closed connection still counts")
		}
	}
	dial(t, addr).do("PING")
}

// A client that begins a command and does not end it is told so, and let
// go.
func TestSlowClient(t *testing.T) {
	_, addr := start(t, Config{Slow: 50 * time.Millisecond})
	p := dial(t, addr)
	p.send("*2\r\n$4\r\nECHO\r\n$5\r\nhel")
	p.fails(p.reply(), "ERR")
	if _, err := p.r.ReadByte(); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
	if got := talk(t, addr, "PING\r\nQUIT\r\n"); got != "+PONG\r\n+OK\r\n" {
		t.Errorf("others get %q", got)
	}
}

// A namespace that is deleted and made again is seen to be another one.
func TestNamespaceChanges(t *testing.T) {
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "n", s, nil))
	svc := server.New(st, server.Options{TTL: 500 * time.Millisecond})
	t.Cleanup(func() { _ = svc.Close(context.Background()) }) // what is deleted gives nothing back
	_, addr := start(t, Config{Service: svc})
	p := dial(t, addr)
	p.id(p.do("SNOWFENCE.NEXT", "n"))
	gone := &pb.DeleteNamespaceRequest{Name: "n", Confirm: "n"}
	must(svc.Management.DeleteNamespace(t.Context(), gone))
	p.fails(p.do("SNOWFENCE.NEXT", "n"), "NONAMESPACE")
	other := &pb.CreateNamespaceRequest{Name: "n", Layout: "sonyflake"}
	fails(t, errOf(svc.Management.CreateNamespace(t.Context(), other)),
		"a deleted namespace came back with another layout")
	same := &pb.CreateNamespaceRequest{Name: "n", Layout: "twitter"}
	must(svc.Management.CreateNamespace(t.Context(), same))
	// its ticks begin above the old one's
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		reply := p.do("SNOWFENCE.NEXT", "n")
		if _, ok := reply.(string); ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(reply)
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
