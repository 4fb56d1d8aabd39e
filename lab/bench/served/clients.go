//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// askUntil asks over one connection of HTTP/2 without TLS, one request at a
// time, until the time is over. It returns how many IDs came, and checks
// that they increase.
func (row batch) askUntil(ctx context.Context, address string, until time.Time) (total int64, err error) {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	var opts []connect.ClientOption
	if row.wire == "grpc" {
		opts = append(opts, connect.WithGRPC())
	}
	c := snowfencev1connect.NewIDServiceClient(&http.Client{Transport: t}, "http://"+address, opts...)
	var dst []int64
	last := int64(0)
	for time.Now().Before(until) {
		req := connect.NewRequest(&pb.NextRequest{Namespace: "wide", Count: uint32(row.count), Runs: row.runs})
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

// expand writes the IDs of a run to memory, as a client would that hands
// them out, and checks the ends.
func expand(dst []int64, first, last, step int64) ([]int64, error) {
	if step <= 0 || last < first {
		return nil, fmt.Errorf("a run from %d to %d by %d", first, last, step)
	}
	n := (last-first)/step + 1
	if int64(cap(dst)) < n {
		dst = make([]int64, n)
	}
	dst = dst[:n]
	id := first
	for i := range dst {
		dst[i] = id
		id += step
	}
	if dst[n-1] != last {
		return nil, fmt.Errorf("a run from %d by %d ends with %d, not %d", first, step, dst[n-1], last)
	}
	return dst, nil
}
