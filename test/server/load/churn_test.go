package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestChurn has connections of five kinds come and go, at full length about
// an hour: the server keeps nothing of them, and there takes no more at the
// end than after a tenth.
func TestChurn(t *testing.T) {
	most := int64(1000)
	if *long {
		most = 130_000
	}
	s := startCrowded(t)
	before := s.usage(t)
	comeAndGo := func(n int64) usage {
		var made atomic.Int64
		var all sync.WaitGroup
		for worker := range uint64(60) {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), worker))
				for made.Add(1) <= n {
					if err := s.visit(random); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
				}
			})
		}
		all.Wait()
		return s.usage(t)
	}
	early := comeAndGo(most / 10)
	late := comeAndGo(most - most/10)
	s.calm(t, before, 60)
	t.Logf("%d connections: resident %.0f MB before, %.0f after a tenth, %.0f at the end", most,
		float64(before.resident)/1e6, float64(early.resident)/1e6, float64(late.resident)/1e6)
	if *long && late.resident > early.resident+early.resident/4 {
		t.Errorf("%d bytes after a tenth, %d at the end", early.resident, late.resident)
	}
}

// visit is a connection of a drawn kind: requests with pauses, pipelines of
// the Redis protocol, an HTTP/2 client, a stream or a watch left in its
// middle.
func (s *crowded) visit(random *rand.Rand) error {
	address, texts := s.http, []string{get(fmt.Sprintf("/v1/default/next?n=%d", 1+random.IntN(2000)), "")}
	switch random.IntN(5) {
	case 0:
		for range random.IntN(10) {
			texts = append(texts, get("/v1/default", ""))
		}
	case 1:
		address, texts = s.resp, make([]string, 1+random.IntN(6))
		for i := range texts {
			texts[i] = strings.Repeat(command("SNOWFENCE.NEXT", "default", "COUNT", "8"), 1+random.IntN(64))
		}
	case 2:
		paths := []string{"/v1/default/next?n=1000", "/v1/default", "/v1/default/leases", "/dashboard/"}
		b := frame([]byte(preface), settingsFrame, 0, 0, nil)
		for i := range 1 + random.IntN(5) {
			b = frame(b, headersFrame, endOfRequest, uint32(2*i+1), request(paths[random.IntN(4)], address))
		}
		texts = []string{string(b)}
	case 3:
		paths := []string{
			"/v1/default/stream?n=100000", "/dashboard/api/watch?namespace=default", "/v1/default/next?n=100000",
		}
		texts = []string{get(paths[random.IntN(3)], "")}
	}
	c, err := connect(address, crowdCaller, address == s.http)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, text := range texts {
		if _, err := io.WriteString(c, text); err != nil {
			return ended(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := c.Read(make([]byte, 1<<16)); err != nil {
			return ended(err)
		}
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	}
	return nil
}
