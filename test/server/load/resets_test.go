package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Frames of HTTP/2.
const (
	headersFrame, resetFrame, settingsFrame = 1, 3, 4
	endOfRequest                            = 1 | 4 // END_STREAM and END_HEADERS
	cancelled                               = 8
	preface                                 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// documentedMemory is what docs/operate/serve.md says of such clients.
const documentedMemory = 400e6

// Clients that open requests and reset them at once, without end ("rapid
// reset"), cost no more memory than is documented, and no ordinary client
// loses an answer.
func TestResets(t *testing.T) {
	most := int64(4000)
	if *long {
		most = 1_000_000
	}
	s := startCrowded(t)
	good := startOrdinary(t, s)
	before := s.usage(t)
	var sent, connections atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for sent.Load() < most {
				connections.Add(1)
				if err := reset(s.http, worker, &sent, most); err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	peak := s.peak(t)
	t.Logf("%d resets on %d connections in %v: %.0f MB resident at most, %.0f MB before",
		sent.Load(), connections.Load(), took.Round(time.Millisecond), float64(peak)/1e6, float64(before.resident)/1e6)
	if peak > documentedMemory {
		t.Errorf("the server took %.0f MB, more than docs/operate/serve.md says", float64(peak)/1e6)
	}
	s.calm(t, before, 8*5*250) // net/http serves 250 requests of a connection at a time, and keeps four times as many
	good.stop(t)
	s.Stop(t, syscall.SIGTERM)
	log, err := os.ReadFile(s.Log)
	must(t, err)
	if strings.Contains(string(log), "panic") || len(log) > 100_000 {
		t.Errorf("the log has %d bytes: %.2000s", len(log), log)
	}
}

// peak is the most memory that the server ever had, in bytes.
func (s *crowded) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid()))
	must(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	return number(t, strings.TrimLeft(rest, " \t"), "") << 10
}

// reset sends requests, each with its reset, on one connection until the
// server ends it. Every other worker reads nothing that comes back.
func reset(address string, worker int, sent *atomic.Int64, most int64) error {
	c, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	if worker%2 == 0 {
		go func() { _, _ = io.Copy(io.Discard, c) }() // until the connection ends
	}
	if _, err := c.Write(frame([]byte(preface), settingsFrame, 0, 0, nil)); err != nil {
		return ended(err)
	}
	paths := []string{"/v1/default/next?n=1000000", "/v1/default/next", "/v1/default/stream?n=1000000", "/v1/default"}
	const together = 50 // of one write
	for stream := uint32(1); sent.Load() < most; {
		var b []byte
		for range together {
			b = frame(b, headersFrame, endOfRequest, stream, request(paths[int(stream/2)%len(paths)], address))
			b = frame(b, resetFrame, 0, stream, binary.BigEndian.AppendUint32(nil, cancelled))
			stream += 2
		}
		if err := c.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Write(b); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil // the server reads no more of a client that takes nothing
			}
			return ended(err) // the server had enough
		}
		sent.Add(together)
	}
	return nil
}

// frame appends a frame.
func frame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// request is the header of a GET of the crowd: two fields of the static
// table, and three texts.
func request(path, host string) []byte {
	b := []byte{0x82, 0x86, 0x04, byte(len(path))} // GET, http, :path
	b = append(append(b, path...), 0x01, byte(len(host)))
	b = append(append(b, host...), 0x0f, 0x08, byte(len("Bearer "+crowdCaller))) // authorization
	return append(b, "Bearer "+crowdCaller...)
}
