package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// badCommands are no commands of the Redis protocol, or ones that ask for
// too much.
var badCommands = []string{
	"*9999999\r\n", "*2147483648\r\n", "*-7\r\n", "*x\r\n", "*2\r\n$99999999\r\n", "*1\r\n$-5\r\n", "*1\r\n$4\r\nPINGxx", "*3\r\n+x\r\n", "$5\r\nhello\r\n*x\r\n",
	"\x00\xff\x00\xff\r\n", strings.Repeat("x", 100_000), strings.Repeat("*", 5000) + "\r\n", "GET / HTTP/1.1\r\n" + host + "\r\n",
	command("SNOWFENCE.NEXT", "default", "COUNT", "1000001"), command("SNOWFENCE.NEXT", "default", "COUNT", "-1"),
	command("SNOWFENCE.NEXT", "default", "COUNT", "99999999999999999999"),
	command("SNOWFENCE.NEXT", strings.Repeat("n", 70_000)), command("SNOWFENCE.NEXT", "../../../etc/passwd"),
	command("SNOWFENCE.DECODE", "default", strings.Repeat("9", 60_000)),
	command(strings.Split(strings.Repeat("x ", 2000), " ")...), command("SELECT", "18446744073709551616"),
	command("HELLO", "99999999"), command("AUTH", strings.Repeat("a", 60_000)),
}

// badRequests are no requests of HTTP, or ones that ask for too much.
var badRequests = []string{
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GARBAGE\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /v1/default/next HTTP/1.1\r\n\r\n", "*1\r\n$4\r\nPING\r\n",
	get("/v1/default/next", "X-Long: "+strings.Repeat("y", 100_000)), get("/v1/default/next",
		strings.Repeat("X-Many: y\r\n", 9000)+"Z: z"), get("/"+strings.Repeat("z", 100_000), ""),
	get("/v1/default/next?n=1000001", ""), get("/v1/default/next?n=-1", ""), get("/v1/default/next?n=0", ""),
	get("/v1/default/next?n=99999999999999999999", ""),
	get("/v1/..%2f..%2fetc%2fpasswd/next", ""), get("/v1/"+strings.Repeat("n", 9000)+"/next", ""),
	get("/v1/default/decode/"+strings.Repeat("9", 9000), ""),
	"PUT /v1/a HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", "PUT /v1/a HTTP/1.1\r\n" + host + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
	"PUT /v1/a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nZZZ\r\n", put("/v1/a", "", strings.Repeat("{", 50_000)), put("/v1/a", "", strings.Repeat(" ", 200_000)),
	put("/snowfence.v1.IDService/Next", "Content-Type: application/json", strings.Repeat("[", 60_000)),
	put("/snowfence.v1.IDService/Next", "Content-Type: application/json", strings.Repeat(" ", 200_000)),
	put("/snowfence.v1.IDService/Next", "Content-Type: application/proto",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	put("/snowfence.v1.IDService/Next", "Content-Type: application/grpc", "\x00\xff\xff\xff\xff"),
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 4000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00" + strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", 300),
}

func get(path, header string) string {
	return "GET " + path + " HTTP/1.1\r\n" + host + header + "\r\n\r\n"
}

func put(path, header, body string) string {
	method := "PUT"
	if header != "" {
		method, header = "POST", header+"\r\n"
	}
	return fmt.Sprintf("%s %s HTTP/1.1\r\n"+host+"%sContent-Length: %d\r\n\r\n%s",
		method, path, header, len(body), body)
}

// attack sends bad requests and noise as fast as it can, over several
// connections, and returns a text with their number.
func attack(t *testing.T, s *crowded, n size) string {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	began, sent := time.Now(), 0
	for worker := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := 0; i < n.rounds || time.Since(began) < n.attack; i++ {
				address, list, web := s.resp, badCommands, false
				if worker%2 == 0 {
					address, list, web = s.http, badRequests, true
				}
				text := list[i%len(list)]
				noise := i%5 == 4
				if noise {
					text = damaged(random, text)
				}
				if err := hit(address, text, web, noise, random.IntN(2) == 0); err != nil {
					t.Errorf("%.60q: %v", text, err)
					return
				}
				mu.Lock()
				sent++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("%.0f a second", float64(sent)/time.Since(began).Seconds())
}

// damaged changes some bytes of a text, or cuts it off.
func damaged(random *rand.Rand, text string) string {
	b := []byte(text[:1+random.IntN(len(text))])
	for range 1 + random.IntN(8) {
		b[random.IntN(len(b))] = byte(random.Uint32())
	}
	return string(b)
}

// hit sends a text on a connection of its own, and looks at the first line
// that comes back: the server may say no, or end the connection. Damaged
// texts may be good ones, but never a failure of the server. Rude clients
// do not read, and leave with a reset.
func hit(address, text string, web, noise, rude bool) error {
	c, err := connect(address, crowdCaller, web)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return ended(err)
	}
	if rude {
		return c.SetLinger(0)
	}
	if err := c.CloseWrite(); err != nil {
		return nil // the server has ended the connection
	}
	r := bufio.NewReaderSize(c, 4096)
	first, err := r.Peek(1)
	if err != nil {
		return ended(err)
	}
	if web && first[0] != 'H' {
		return nil // frames of HTTP/2, of which the last comes after a second
	}
	line, err := r.ReadString('\n')
	switch {
	case err != nil:
		return ended(err)
	case web && strings.HasPrefix(line, "HTTP/1.1 4"), web && strings.HasPrefix(line, "HTTP/1.1 505"), !web &&
		strings.HasPrefix(line, "-"):
		return nil
	// its errors come behind the answer
	case strings.Contains(text, "application/grpc") && strings.HasPrefix(line, "HTTP/1.1 200"):
		return nil
	case noise && !strings.HasPrefix(line, "HTTP/1.1 500"):
		return nil
	}
	return errors.New("the server answers " + line)
}
