package resp

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// counting starts a server with sequences, whose limits it takes from cfg.
func counting(t *testing.T, cfg Config, all map[string]sequence.Definition) string {
	t.Helper()
	st := store.NewMemory()
	for name, d := range all {
		noError(t, sequence.Create(t.Context(), st, name, d))
	}
	cfg.Service = server.New(st, server.Options{})
	t.Cleanup(func() {
		noError(t, cfg.Service.Close(context.Background()))
	})
	_, addr := start(t, cfg)
	return addr
}

// says checks that a command has a reply; an error has its code, and the
// text somewhere.
func (p *peer) says(command string, want any, text ...string) {
	p.Helper()
	got := p.do(strings.Fields(command)...)
	if err, ok := got.(error); ok {
		code, _, _ := strings.Cut(err.Error(), " ")
		for _, t := range text {
			if !strings.Contains(err.Error(), t) {
				p.Errorf("%s: %v, want %q in it", command, err, t)
			}
		}
		got = code
	}
	if !reflect.DeepEqual(got, want) {
		p.Errorf("%s: %v, want %v", command, got, want)
	}
}

func TestSequences(t *testing.T) {
	addr := counting(t, Config{}, map[string]sequence.Definition{
		"orders": {}, "shop.orders": {Start: new(int64(-3)), Step: -1}, "few": {Max: new(int64(3)), Mode: sequence.Strict},
	})
	p := dial(t, addr)
	p.says("GET orders", nil)
	p.says("INCR orders", int64(1))
	p.says("incr orders", int64(2))
	p.says("GET orders", "2")
	p.says("INCRBY orders 10", int64(12))
	p.says("GET orders", "12")
	p.says("INCRBY orders 1000000", int64(1000012))
	p.says("INCR orders", int64(1000013))
	p.says("INCR shop:orders", int64(-3))
	p.says("INCRBY shop.orders 2", "ERR", "steps of -1")
	p.says("INCRBY shop.orders 1", int64(-4))
	p.says("GET shop:orders", "-4")
	p.says("INCRBY few 2", int64(2))
	p.says("INCR few", int64(3))
	p.says("INCRBY few 2", "ENDED", "snowfence sequence change few --max M")
	p.says("INCR few", "ENDED")
	p.says("GET few", "3")

	p.says("INCR nothing", "NOSEQUENCE", "snowfence sequence create nothing", "/v1/nothing/sequence")
	p.says("GET nothing", "NOSEQUENCE")
	p.says("TTL nothing", "NOSEQUENCE")
	p.says("EXPIRE nothing:20261122 1", "NOSEQUENCE")
	p.says("INCR a:1", "ERR", "such names are for dates: take another one, as in a.c1")
	p.says("INCR no/name", "ERR", "1 to 63")
	p.says("INCR "+strings.Repeat("x", 64), "ERR", "1 to 63")
	p.says("INCR "+strings.Repeat("x", 4000), "ERR", "1 to 63")
	p.says("INCRBY orders 0", "ERR", "never goes back")
	p.says("INCRBY orders -1", "ERR", "--step -1")
	p.says("INCRBY orders 1000001", "ERR", "1 to 1000000")
	p.says("INCRBY orders 1.5", "ERR", "not an integer")
	p.says("INCRBY orders 99999999999999999999", "ERR", "not an integer")
	p.says("INCR orders 2", "ERR", "wrong number of arguments")
	p.says("INCR", "ERR", "wrong number of arguments")
	p.says("INCR orders:1234", "ERR", "as in orders.c1234")
	p.says("INCR orders:2026", "PERIOD", "is not dated", "as in orders.c2026")

	p.says("EXPIRE orders 60", "REFUSED", "never begin again")
	p.says("PEXPIREAT orders 60 NX", "REFUSED", "never begin again")
	p.says("EXPIRE orders soon", "ERR", "not an integer")
	p.says("EXPIRE orders:20261122 60", "PERIOD", "is not dated")
	p.says("TTL orders", int64(-1))
	p.says("PTTL orders", int64(-1))
	for command, cure := range map[string]string{
		"SET orders 1": "--start N", "DECR orders": "--step -1", "EVAL x 0": "no scripts", "WATCH orders": "no other client's",
		"DEL orders": "snowfence sequence delete", "INCRBYFLOAT orders 1": "whole", "MGET orders": "sequence list",
	} {
		p.says(command, "ERR", cure)
	}
	p.says("INCR orders", int64(1000014))
}

// The period in a key and the date of the number agree: a bare name is
// refused, and a key of yesterday counts on over midnight.
func TestPeriodsInKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipeTo(t, Config{}, nil) // at 2026-11-21 00:00 UTC
		for name, d := range map[string]sequence.Definition{
			"bills": {Pattern: "{year}{month}{day}-{n:2}"}, "shop.months": {Pattern: "{yy}{month}/{n:6+}", Zone: "Asia/Tokyo"},
			"by.two": {Pattern: "{year}-{n:3}", Start: new(int64(10)), Step: 2, Mode: sequence.Strict},
		} {
			noError(t, sequence.Create(t.Context(), p.conn.srv.cfg.Service.Store(), name, d))
		}
		for _, command := range []string{"INCR bills", "INCRBY bills 2", "GET bills", "EXPIRE bills 60"} {
			p.says(command, "PERIOD", "bills:20261121")
		}
		p.says("TTL bills", int64(-1))
		p.says("GET bills:20261121", nil)
		p.says("INCR bills:20261121", int64(1))
		p.says("EXPIRE bills:20261121 86400 NX", int64(1))
		p.says("INCRBY bills:2026-11-21 3", int64(4))
		p.says("GET bills:20261121", "4")
		p.says("TTL bills:20261121", int64(-1))
		go func() {
			noError(t, errOf(io.WriteString(p.c, strings.Repeat(encode("INCR", "bills:20261121"), 50))))
		}()
		for want := range int64(50) {
			if got := p.reply(); got != want+5 {
				t.Fatal(got, want+5)
			}
		}
		p.says("INCRBY bills:20261121 50", "ENDED", "another period, or use another sequence")
		p.says("INCR shop:months:202611", int64(1))
		p.says("INCR shop.months.2026-12", int64(1))
		p.says("INCR by:two:2026", int64(10))
		p.says("INCRBY by:two:2026 2", "ERR", "steps of 2")
		p.says("INCR by:two:2026", int64(12))
		p.says("GET by.two:2026", "12")

		p.says("INCR bills:20261122", int64(1)) // the next one may be taken from
		p.says("INCR bills:20261123", "PERIOD", "20261121")
		for _, none := range []string{
			"INCR bills:2026", "INCR bills:202611", "EXPIRE bills:20260230 1", "GET bills:20261131",
		} {
			p.says(none, "PERIOD")
		}
		p.says("INCR bills:1", "ERR", "are for dates")
		p.says("INCR bills:00261121", "ERR", "are for dates")

		time.Sleep(24 * time.Hour)
		p.says("INCR bills", "PERIOD", "bills:20261122")
		p.says("INCR bills:20261122", int64(2))
		p.says("GET bills:20261121", "54")
		p.says("MULTI", "OK")
		p.says("INCR bills:20261122", "QUEUED")
		p.says("EXPIRE bills:20261122 60", "QUEUED")
		p.says("GET bills:20261122", "QUEUED")
		p.says("EXEC", []any{int64(3), int64(1), "3"})
	})
}

// Clients that spread keys over servers ask where a command has its key.
func TestPlaceOfKeys(t *testing.T) {
	p := dial(t, counting(t, Config{}, nil))
	first := []any{int64(1), int64(1), int64(1)}
	none := []any{int64(0), int64(0), int64(0)}
	for name, want := range map[string][]any{
		"incr":    append([]any{"incr", int64(2), []any{"write", "fast"}}, first...),
		"get":     append([]any{"get", int64(2), []any{"readonly", "fast"}}, first...),
		"pexpire": append([]any{"pexpire", int64(-3), []any{"write", "fast"}}, first...),
		"multi":   append([]any{"multi", int64(1), []any{"fast"}}, none...),
	} {
		if got := p.do("COMMAND", "INFO", name); !reflect.DeepEqual(got, []any{want}) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// A token takes with the verb ids and looks with read, each where it may,
// and every number counts for its rate.
func TestTokensOfSequences(t *testing.T) {
	a := must(server.NewAuth([]server.Token{
		token("all", "secret-1", nil),
		token("reader", "secret-2", func(t *server.Token) { t.Verbs = []server.Verb{server.VerbRead} }),
		token("elsewhere", "secret-3", func(t *server.Token) { t.Namespaces = []string{"shop.*"} }),
		token("slow", "secret-4", func(t *server.Token) { t.Rate, t.Burst = 0.001, 10 }),
	}))
	addr := counting(t, Config{Auth: func() *server.Auth { return a }},
		map[string]sequence.Definition{"orders": {}, "shop.orders": {}})
	p := dial(t, addr)
	for _, command := range []string{"INCR orders", "INCRBY orders 2", "GET orders", "TTL orders", "MULTI", "EXEC"} {
		p.says(command, "NOAUTH")
	}
	p.do("AUTH", "secret-1")
	p.says("INCR orders", int64(1))
	p.says("GET orders", "1")
	p.do("AUTH", "secret-2")
	p.says("INCR orders", "NOPERM") // the sequence of the last command opens nothing
	p.says("EXPIRE orders:20261122 1", "NOPERM")
	p.says("GET orders", "1")
	p.do("AUTH", "secret-3")
	p.says("INCR orders", "NOPERM")
	p.says("INCR shop:orders", int64(1))
	p.do("AUTH", "secret-4")
	p.says("INCRBY orders 11", "LIMIT")
	p.says("INCRBY orders 9", int64(10))
	p.send(strings.Repeat(encode("INCR", "orders"), 3))
	if got := p.reply(); got != int64(11) {
		t.Error(got)
	}
	p.fails(p.reply(), "LIMIT")
	p.fails(p.reply(), "LIMIT")
}

// Whatever commands come together, in one pipeline or between MULTI and
// EXEC, each has its reply in its place: numbers rise, none comes twice,
// and none of another sequence comes.
func TestPipelinesOfNumbers(t *testing.T) {
	addr := counting(t, Config{}, map[string]sequence.Definition{
		"a": {MinRange: 10, MaxRange: 100}, "b": {Start: new(int64(1 << 40)), Mode: sequence.Strict},
		"c.c": {Start: new(int64(-1)), Step: -7, MinRange: 100, MaxRange: 100, Mode: sequence.Dense},
	})
	words := []string{
		"INCR a", "incr a", "INCR b", "INCR c:c", "INCR c.c", "INCRBY a 3", "INCRBY b 70", "INCR nothing", "PING",
		"GET a", "SET a 1", "RESET",
	}
	first, step := map[byte]int64{'a': 1, 'b': 1 << 40, 'c': -1}, map[byte]int64{'a': 1, 'b': 1, 'c': -7}
	r := rand.New(rand.NewPCG(1, 2))
	p := dial(t, addr)
	last := map[byte]int64{}
	check := func(w string, reply any) {
		t.Helper()
		w = strings.ToUpper(w)
		switch {
		case w == "INCR NOTHING":
			p.fails(reply, "NOSEQUENCE")
		case w == "SET A 1":
			p.fails(reply, "ERR")
		case w == "GET A":
			if want, ok := last['a']; ok && reply != strconv.FormatInt(want, 10) {
				t.Errorf("%s: %v, want %d", w, reply, want)
			}
		case strings.HasPrefix(w, "INCR"):
			name := strings.ToLower(w)[strings.IndexByte(w, ' ')+1]
			n, ok := reply.(int64)
			before, any := last[name]
			if !any {
				before = first[name] - step[name]
			}
			by := int64(1)
			if _, err := fmt.Sscanf(w[strings.LastIndexByte(w, ' ')+1:], "%d", &by); err != nil {
				by = 1
			}
			if !ok || (n-before)/step[name] < by || (n-first[name])%step[name] != 0 {
				t.Fatalf("%s: %v after %d", w, reply, before)
			}
			last[name] = n
		}
	}
	for range 200 {
		var text strings.Builder
		var asked []string
		multi := r.IntN(3) == 0
		if multi {
			text.WriteString(encode("MULTI"))
		}
		for range 1 + r.IntN(8) {
			w := words[r.IntN(len(words))]
			if multi && (w == "RESET" || w == "SET a 1") {
				continue
			}
			for range 1 + r.IntN(200)/(1+r.IntN(50)) {
				if len(asked) < maxQueued {
					asked = append(asked, w)
					text.WriteString(encode(strings.Fields(w)...))
				}
			}
		}
		if multi {
			text.WriteString(encode("EXEC"))
		}
		go func() {
			noError(t, errOf(p.c.Write([]byte(text.String()))))
		}()
		if !multi {
			for _, w := range asked {
				check(w, p.reply())
			}
			continue
		}
		if got := p.reply(); got != "OK" {
			t.Fatal(got)
		}
		for range asked {
			if got := p.reply(); got != "QUEUED" {
				t.Fatal(got)
			}
		}
		replies, _ := p.reply().([]any)
		if len(replies) != len(asked) {
			t.Fatalf("%d replies to %d commands", len(replies), len(asked))
		}
		for i, w := range asked {
			check(w, replies[i])
		}
	}
}

func TestMulti(t *testing.T) {
	p := dial(t, counting(t, Config{}, map[string]sequence.Definition{"orders": {}}))
	p.says("EXEC", "ERR", "EXEC without MULTI")
	p.says("DISCARD", "ERR", "DISCARD without MULTI")
	p.says("MULTI", "OK")
	p.says("MULTI", "ERR", "nested")
	p.says("INCR orders", "QUEUED")
	p.says("GET orders", "QUEUED")
	p.says("INCR nothing", "QUEUED")
	p.says("INCRBY orders 5", "QUEUED")
	p.says("TTL orders", "QUEUED")
	got, _ := p.do("EXEC").([]any)
	if len(got) != 5 || got[0] != int64(1) || got[1] != "1" || got[3] != int64(6) || got[4] != int64(-1) {
		t.Fatal(got)
	}
	p.fails(got[2], "NOSEQUENCE")

	p.says("MULTI", "OK")
	p.says("INCR orders", "QUEUED")
	p.says("DISCARD", "OK")
	p.says("INCR orders", int64(7))
	for _, wrong := range []string{"SET orders 1", "INCR", "SELECT 0", "WATCH orders", "HELLO 3"} {
		p.says("MULTI", "OK")
		p.says(wrong, "ERR")
		p.says("INCR orders", "QUEUED")
		p.says("EXEC", "EXECABORT")
	}
	p.says("MULTI", "OK")
	p.says("RESET", "RESET")
	p.says("INCR orders", int64(8))

	p.says("MULTI", "OK")
	p.send(strings.Repeat(encode("INCR", "orders"), maxQueued+1))
	for range maxQueued {
		if got := p.reply(); got != "QUEUED" {
			t.Fatal(got)
		}
	}
	p.fails(p.reply(), "ERR")
	p.says("EXEC", "EXECABORT")
	p.says("INCR orders", int64(9))

	p.says("MULTI", "OK")
	long := encode("PING", strings.Repeat("x", 4000))
	p.send(strings.Repeat(long, maxQueueBytes/len(long)+1))
	for range maxQueueBytes / len(long) {
		if got := p.reply(); got != "QUEUED" {
			t.Fatal(got)
		}
	}
	p.fails(p.reply(), "ERR")
	p.says("EXEC", "EXECABORT")

	p.says("MULTI", "OK")
	p.says("EXEC", []any{})
	p.says("MULTI", "OK")
	p.says("QUIT", "OK")
}

// FuzzKey: a key is a name and a period, and no letter or digit of it is
// lost.
func FuzzKey(f *testing.F) {
	for _, text := range []string{
		"orders", "shop:orders", "bills:20261122", "a.b:2026", "x:202611", "x:2026-11", "x:2026-11-22", "1", ":2026", "a:0026", "a::", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k := parseKey([]byte(text))
		whole := k.name
		if k.period != 0 {
			whole += fmt.Sprintf(".%d", k.period)
			if k.period < 1970 || k.period > 21999999 {
				t.Errorf("%q: period %d", text, k.period)
			}
		}
		want := strings.ReplaceAll(server.Clip(text), ":", ".")
		if k.period != 0 {
			whole, want = strings.ReplaceAll(whole, "-", ""), strings.ReplaceAll(want, "-", "")
		}
		if whole != want {
			t.Errorf("%q: %+v", text, k)
		}
	})
}

// A pipeline took its numbers as a row, which is a gap where a period ends.
func TestPipelineUsesAllNumbersOfAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipeTo(t, Config{}, nil) // at 2026-11-21 00:00 UTC
		d := sequence.Definition{Pattern: "{year}{month}{day}-{n:2}", Mode: sequence.Strict}
		noError(t, sequence.Create(t.Context(), p.conn.srv.cfg.Service.Store(), "bills", d))
		p.says("INCRBY bills:20261121 90", int64(90))
		go func() { must(io.WriteString(p.c, strings.Repeat(encode("INCR", "bills:20261121"), 12))) }()
		for want := range int64(9) {
			if got := p.reply(); got != want+91 {
				t.Fatal(got, want+91)
			}
		}
		for range 3 {
			p.fails(p.reply(), "ENDED")
		}
	})
}
