package serve

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// http2Conn speaks HTTP/2 by hand: clients of libraries read by themselves.
type http2Conn struct{ net.Conn }

func dialHTTP2(t *testing.T, p *Process, window uint32) http2Conn {
	t.Helper()
	c := http2Conn{must(net.Dial("tcp", p.HTTP))}
	t.Cleanup(func() { c.Close() })
	noError(t, c.SetReadDeadline(time.Now().Add(patienceOfTests)))
	must(io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	c.send(4, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, window)) // of each stream
	return c
}

func (c http2Conn) send(kind, flags byte, stream uint32, payload []byte) {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	must(c.Write(append(binary.BigEndian.AppendUint32(b, stream), payload...)))
}

func (c http2Conn) ask(method string, stream uint32, path string) {
	host := c.RemoteAddr().String()
	b := append([]byte{0x86, 0x02, byte(len(method))}, method...) // http
	b = append(append(b, 0x01, byte(len(host))), host...)
	c.send(1, 5, stream, append(append(b, 0x04, byte(len(path))), path...))
}

func (c http2Conn) next() (kind byte, payload []byte) {
	var head [9]byte
	must(io.ReadFull(c, head[:]))
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	must(io.ReadFull(c, payload))
	return head[3], payload
}

// stalled is a server with a stream to a client that reads nothing.
func stalled(t *testing.T, slow time.Duration) (*Process, http2Conn) {
	p, _ := start(t, Config{Limits: Limits{Slow: slow}}, newStore(t))
	c := dialHTTP2(t, p, 1<<31-1)
	c.send(8, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<31-1-65535)) // the window of the connection
	c.ask("GET", 1, "/v1/default/stream")
	return p, c
}

// Answers without a body gave their room back before the client took them.
func TestHTTP2HeadsKeepTheirRoom(t *testing.T) {
	p, c := stalled(t, patienceOfTests)
	stream := uint32(1)
	eventually(t, "eight wait beside the stream", func() bool {
		stream += 2
		c.ask("HEAD", stream, "/v1/default/next")
		var others server.Caller
		defer p.service.Ended(&others)
		return p.service.Reserve(&others, server.MostRoom-server.StreamRoom-8*server.RequestRoom) != nil
	})
}

// A stream's deadline ended no write of its connection, so the handler and
// its room stayed for ever.
func TestHTTP2ClientThatReadsNothing(t *testing.T) {
	p, _ := stalled(t, time.Second)
	sp := must(p.Service().Spaces.Find(t.Context(), "default"))
	eventually(t, "the stream begins", func() bool { return sp.Made.Load() > 0 })
	eventually(t, "its room is free", func() bool {
		return p.service.Reserve(&server.Caller{}, server.MostRoom) == nil
	})
}

// A connection kept a megabyte for a frame, and one for each request body.
func TestHTTP2BuffersAreSmall(t *testing.T) {
	p, _ := start(t, Config{}, newStore(t))
	_, settings := dialHTTP2(t, p, 65535).next()
	most := map[uint16]uint32{4: 64 << 10, 5: 16 << 10} // the first window of a stream, and a frame
	for ; len(settings) >= 6; settings = settings[6:] {
		id, n := binary.BigEndian.Uint16(settings), binary.BigEndian.Uint32(settings[2:])
		if limit, ok := most[id]; ok && n > limit {
			t.Errorf("setting %d is %d, more than %d", id, n, limit)
		}
	}
}

// Small answers that a client did not take gave their room back.
func TestHTTP2AnswersKeepTheirRoom(t *testing.T) {
	p, _ := start(t, Config{}, newStore(t))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	noError(t, p.service.Reserve(&server.Caller{}, server.MostRoom-8*server.RequestRoom))
	c := dialHTTP2(t, p, 0) // it takes heads only
	for i := range uint32(32) {
		c.ask("GET", 2*i+1, "/v1/default")
	}
	good := 0
	for seen := 0; seen < 32; {
		if kind, head := c.next(); kind == 1 {
			seen++
			if head[0] == 0x88 { // 200
				good++
			}
		}
	}
	if good == 0 || good > 8 {
		t.Errorf("%d answers wait in the room of 8", good)
	}
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	res := must((&http.Client{Transport: tr}).Get("http://" + p.HTTP + "/v1/default"))
	if res.Body.Close(); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("refused by %s, %v", res.Status, res.Header)
	}
	p.refused.Store(mostRefused)
	client := http.Client{Transport: tr}
	fails(t, errOf(client.Get("http://"+p.HTTP+"/v1/default")), "more refusals wait than may")
}

// The requests of all tokens over one connection took the share of the
// first token.
func TestTokensOfAConnectionHaveTheirOwnShares(t *testing.T) {
	tokens := []server.Token{token("shop", "secret-shop"), token("cart", "secret-cart")}
	p, _ := start(t, Config{Access: Access{TokenList: tokens}}, newStore(t))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	if code, _ := get(t, "http://"+p.HTTP+"/v1/default", "secret-shop"); code != http.StatusOK {
		t.Fatal(code)
	}
	shop := must(p.tokens.currentAuth().Identify("secret-shop"))
	noError(t, p.service.Reserve(&server.Caller{Identity: shop}, server.MostRoom*3/4))
	if code, text := get(t, "http://"+p.HTTP+"/v1/default", "secret-cart"); code != http.StatusOK {
		t.Errorf("another token over the same connection: %d %s", code, text)
	}
}
