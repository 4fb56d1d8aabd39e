package resp

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// pipe is a connection in a bubble of virtual time, and its client.
type pipe struct {
	*peer
	conn *conn
	done chan struct{}
}

// pipeTo serves one connection of a server with the namespace default. wrap
// stands before the server's side; nil for none.
func pipeTo(t *testing.T, cfg Config, wrap func(net.Conn) net.Conn) *pipe {
	time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))) // the bubble begins before the epoch
	st := store.NewMemory()
	sc := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "default", sc, nil))
	cfg.Service = server.New(st, server.Options{Lead: 100_000})
	if cfg.Auth == nil {
		a := server.Open()
		cfg.Auth = func() *server.Auth { return a }
	}
	s := New(bounded(cfg))
	theirs, ours := net.Pipe()
	if wrap != nil {
		theirs = wrap(theirs)
	}
	p := &pipe{
		&peer{t, ours, bufio.NewReader(ours)},
		&conn{srv: s, c: theirs, proto: 2, id: cfg.Auth().Anyone(), place: s.Enter(nil, nil, 1)},
		make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		p.conn.serve()
	}()
	t.Cleanup(func() {
		ours.Close()
		<-p.done
		noError(t, cfg.Service.Close(context.Background()))
	})
	return p
}

func (p *pipe) closed() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// burst sends a large pipeline, and takes the replies.
func (p *pipe) burst() {
	const n = 1500
	go func() { _, _ = p.c.Write([]byte(strings.Repeat(encode("SNOWFENCE.NEXT", "default"), n))) }()
	last := snowfence.ID(0)
	for range n {
		id := p.id(p.reply())
		if id <= last {
			p.Fatalf("%d after %d", id, last)
		}
		last = id
	}
}

// A client that falls silent has small buffers again, over TLS too; one
// that goes on keeps them. No client is cut off for it.
func TestBuffersOfIdleClients(t *testing.T) {
	for _, secure := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var wrap func(net.Conn) net.Conn
			if secure {
				wrap = func(c net.Conn) net.Conn { return tls.Server(c, selfSigned(t)) }
			}
			p := pipeTo(t, Config{}, wrap)
			if secure {
				p.c = tls.Client(p.c, &tls.Config{InsecureSkipVerify: true})
				p.r = bufio.NewReader(p.c)
			}
			held := func() int {
				synctest.Wait()
				n := len(p.conn.buf) + cap(p.conn.out)
				for _, a := range p.conn.args[:cap(p.conn.args)] {
					n += cap(a)
				}
				return n
			}
			p.burst()
			if n := held(); n < 16*firstBuffer {
				t.Fatalf("TLS %v: the buffers are %d bytes, so that this tests nothing", secure, n)
			}
			for range 20 { // it goes on, and gets through each time without new ones
				p.do("PING")
				time.Sleep(shrinkAfter / 2)
				if n := held(); n < 16*firstBuffer {
					t.Fatalf("TLS %v: the buffers of a busy client are %d bytes", secure, n)
				}
			}
			p.do("PING")
			time.Sleep(2 * shrinkAfter)
			if n := held(); n > 2*firstBuffer {
				t.Errorf("TLS %v: the buffers of an idle client are %d bytes", secure, n)
			}
			time.Sleep(61 * time.Minute)
			if p.closed() || p.do("PING") != "PONG" {
				t.Errorf("TLS %v: cut off", secure)
			}
		})
	}
}

// A client that does not authenticate is cut off, whatever it sends; one
// that did may be silent for ever, and one that takes it back has as long
// once more. One whose token was taken away stayed for ever, too.
func TestNobodyStays(t *testing.T) {
	a := must(server.NewAuth([]server.Token{token("all", "secret", nil)}))
	cfg := Config{Auth: func() *server.Auth { return a }, Slow: 10 * time.Second}
	slowly := encode("CLIENT", "SETNAME", strings.Repeat("x", 100))
	for name, say := range map[string]func(i int) string{
		"silent":          func(int) string { return "" },
		"talkative":       func(int) string { return encode("CLIENT", "SETNAME", "x") },
		"a byte a second": func(i int) string { return slowly[i : i+1] },
		"without success": func(int) string { return encode("AUTH", "too", "many", "words") }, // wrong tokens end it sooner
	} {
		synctest.Test(t, func(t *testing.T) {
			p := pipeTo(t, cfg, nil)
			go func() { _, _ = p.r.WriteTo(io.Discard) }()
			began := time.Now()
			for i := 0; !p.closed() && i < 60; i++ {
				if text := say(i); text != "" {
					_, _ = p.c.Write([]byte(text))
				}
				time.Sleep(time.Second)
			}
			if d := time.Since(began); d < 10*time.Second || d > 12*time.Second {
				t.Errorf("%s: no client stayed for %v", name, d)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := pipeTo(t, cfg, nil)
		time.Sleep(9 * time.Second)
		if got := p.do("AUTH", "secret"); got != "OK" {
			t.Fatal(got)
		}
		time.Sleep(time.Hour)
		p.id(p.do("SNOWFENCE.NEXT", "default"))
		p.do("RESET")
		time.Sleep(9 * time.Second)
		if p.closed() {
			t.Error("closed too early")
		}
		p.fails(p.reply(), "NOAUTH")
		if !p.closed() {
			t.Error("no client stays after RESET")
		}
	})
	for _, silent := range []bool{false, true} { // one whose token is taken away
		synctest.Test(t, func(t *testing.T) {
			now := must(server.NewAuth([]server.Token{token("all", "secret", nil)}))
			p := pipeTo(t, Config{Auth: func() *server.Auth { return now }, Slow: 10 * time.Second}, nil)
			p.do("AUTH", "secret")
			time.Sleep(time.Hour)
			p.id(p.do("SNOWFENCE.NEXT", "default"))
			next := must(server.NewAuth(nil))
			next.Replace(now)
			now = next
			went := time.Now()
			go func() { _, _ = p.r.WriteTo(io.Discard) }()
			for !p.closed() && time.Since(went) < time.Hour {
				if !silent {
					_, _ = p.c.Write([]byte(encode("PING")))
				}
				time.Sleep(time.Second)
			}
			if d := time.Since(went); d > lookEvery+12*time.Second || !silent && d > 12*time.Second {
				t.Errorf("silent %v: a client without rights stayed for %v", silent, d)
			}
		})
	}
}

// A client that never stops sending, so that every piece that comes in ends
// in the middle of a command, is not slow.
func TestEndlessPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipeTo(t, Config{Slow: 10 * time.Second}, nil)
		text := encode("ECHO", "x")
		p.send(text[:5])
		for range 60 {
			time.Sleep(time.Second)
			p.send(text[5:] + text[:5])
			if got := p.reply(); got != "x" {
				t.Fatal(got)
			}
		}
		time.Sleep(11 * time.Second)
		if got, err := p.r.ReadString('\n'); err == nil && !strings.Contains(got, "in time") {
			t.Error(got)
		}
		if !p.closed() {
			t.Error("a client that does not end its command stays")
		}
	})
}

// Commands that waited long for the store had no reply: the time for their
// client to take it was over.
func TestRepliesAfterALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server.Open()
		wait := func() *server.Auth { time.Sleep(20 * time.Second); return a }
		p := pipeTo(t, Config{Slow: 10 * time.Second, Auth: wait}, nil)
		p.send(encode("PING"))
		if got := p.reply(); got != "PONG" {
			t.Error(got)
		}
	})
}

func selfSigned(t *testing.T) *tls.Config {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der := must(x509.CreateCertificate(rand.Reader, about, about, key.Public(), key))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
