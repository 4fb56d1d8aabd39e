//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// reader reads replies of the Redis protocol.
type reader struct{ *bufio.Reader }

// number reads a line of a type byte and a number.
func (r reader) number(kind byte) (int64, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != kind {
		return 0, fmt.Errorf("got %q, want a reply of kind %q", line, kind)
	}
	return digits(line[1 : len(line)-2])
}

// id reads a bulk string that is a number.
func (r reader) id() (int64, error) {
	n, err := r.number('$')
	if err != nil {
		return 0, err
	}
	b, err := r.Peek(int(n) + 2)
	if err != nil {
		return 0, err
	}
	id, err := digits(b[:n])
	_, _ = r.Discard(int(n) + 2) // they are there
	return id, err
}

func digits(b []byte) (n int64, err error) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is no number", b)
		}
		n = 10*n + int64(c-'0')
	}
	return n, nil
}

// dial opens a connection that has said who it is.
func dial(ctx context.Context, address string, until time.Time) (net.Conn, reader, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, reader{}, err
	}
	r := reader{bufio.NewReaderSize(c, 64<<10)}
	if err := c.SetDeadline(until.Add(30 * time.Second)); err != nil {
		return nil, r, err
	}
	if _, err := io.WriteString(c, "AUTH "+token+"\r\n"); err != nil {
		return nil, r, err
	}
	line, err := r.ReadString('\n')
	if err == nil && line != "+OK\r\n" {
		err = fmt.Errorf("AUTH: %q", line)
	}
	return c, r, err
}

// asking is how many requests one connection has under way over the Redis protocol, so
// that neither side waits for the other's answer.
const asking = 2

func respBatches(count int64) func(context.Context, string, time.Time) (int64, error) {
	return func(ctx context.Context, address string, until time.Time) (total int64, err error) {
		command := "SNOWFENCE.NEXT wide COUNT " + strconv.FormatInt(count, 10) + "\r\n"
		last := int64(0)
		err = ask(ctx, address, until, command, func(r reader) error {
			n, err := r.number('*')
			if err != nil || n != count {
				return fmt.Errorf("%d IDs, want %d: %w", n, count, err)
			}
			for range n {
				id, err := r.id()
				if err != nil {
					return err
				}
				if id <= last {
					return fmt.Errorf("%d after %d", id, last)
				}
				last = id
			}
			total += n
			return nil
		})
		return total, err
	}
}

func respRuns(ctx context.Context, address string, until time.Time) (total int64, err error) {
	var dst []int64
	last := int64(0)
	err = ask(ctx, address, until, "SNOWFENCE.NEXT wide COUNT 1000000 RUNS\r\n", func(r reader) error {
		n, err := r.number('*')
		for range n {
			if _, err = r.number('*'); err != nil {
				break
			}
			first, err1 := r.id()
			end, err2 := r.id()
			step, err3 := r.number(':')
			if err1 != nil || err2 != nil || err3 != nil || first <= last {
				return fmt.Errorf("a run from %d to %d by %d after %d: %v %v %v",
					first, end, step, last, err1, err2, err3)
			}
			if dst, err = expand(dst, first, end, step); err != nil {
				break
			}
			last = end
			total += int64(len(dst))
		}
		return err
	})
	return total, err
}

// ask sends a command again and again, and reads each reply.
func ask(ctx context.Context, address string, until time.Time, command string, read func(reader) error) error {
	c, r, err := dial(ctx, address, until)
	if err != nil {
		return err
	}
	defer c.Close()
	open := 0
	for {
		for ; open < asking && time.Now().Before(until); open++ {
			if _, err := io.WriteString(c, command); err != nil {
				return err
			}
		}
		if open == 0 {
			return nil
		}
		if err := read(r); err != nil {
			return err
		}
		open--
	}
}

// rpcBatches asks over one connection of HTTP/2 without TLS, one request at a time.
func rpcBatches(grpc bool, count uint32, runs bool) func(context.Context, string, time.Time) (int64, error) {
	return func(ctx context.Context, address string, until time.Time) (total int64, err error) {
		t := &http.Transport{Protocols: new(http.Protocols)}
		t.Protocols.SetUnencryptedHTTP2(true)
		var opts []connect.ClientOption
		if grpc {
			opts = append(opts, connect.WithGRPC())
		}
		c := snowfencev1connect.NewIDServiceClient(&http.Client{Transport: t}, "http://"+address, opts...)
		var dst []int64
		last := int64(0)
		for time.Now().Before(until) {
			req := connect.NewRequest(&pb.NextRequest{Namespace: "wide", Count: count, Runs: runs})
			req.Header().Set("Authorization", "Bearer "+token)
			res, err := c.Next(ctx, req)
			if err != nil {
				return 0, err
			}
			for _, id := range res.Msg.Ids {
				if id <= last {
					return 0, fmt.Errorf("%d after %d", id, last)
				}
				last = id
			}
			total += int64(len(res.Msg.Ids))
			for _, r := range res.Msg.Runs {
				if r.First <= last {
					return 0, fmt.Errorf("a run from %d after %d", r.First, last)
				}
				if dst, err = expand(dst, r.First, r.Last, r.Step); err != nil {
					return 0, err
				}
				last = r.Last
				total += int64(len(dst))
			}
		}
		return total, nil
	}
}
