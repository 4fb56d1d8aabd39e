//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// batches measures how many IDs one connection carries. The clients are processes of
// their own on the second core: this program again.
func (b *bench) batches(s *servers) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range clientNames {
		address := fmt.Sprint("127.0.0.1:", s.resp)
		if clients[name].http {
			address = s.http
		}
		before, err := s.snowfence.cpu()
		if err != nil {
			return err
		}
		start := time.Now()
		c := on(1, true, self, "-client", name, "-address", address, "-time", b.time.String())
		cmd := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("client %s: %w: %s", name, err, stderr.Bytes())
		}
		after, err := s.snowfence.cpu()
		if err != nil {
			return err
		}
		var rate, client float64
		if _, err := fmt.Sscan(string(out), &rate, &client); err != nil {
			return fmt.Errorf("client %s wrote %q", name, out)
		}
		sample(rate, "batch/%s/rate", name)
		sample(client, "batch/%s/client", name)
		sample((after-before)/time.Since(start).Seconds(), "batch/%s/server", name)
	}
	return nil
}

// client asks for IDs until the time is over and returns how many came. It checks that
// they increase.
type client struct {
	http bool
	run  func(ctx context.Context, address string, until time.Time) (int64, error)
}

// clients by the names of their rows, which are measured in this order.
var (
	clientNames = []string{
		"resp-1000", "resp-100000", "connect-1000", "grpc-1000", "grpc-100000", "resp-runs",
		"grpc-runs",
	}
	clients = map[string]client{
		"resp-1000":    {run: respBatches(1000)},
		"resp-100000":  {run: respBatches(100_000)},
		"resp-runs":    {run: respRuns},
		"connect-1000": {true, rpcBatches(false, 1000, false)},
		"grpc-1000":    {true, rpcBatches(true, 1000, false)},
		"grpc-100000":  {true, rpcBatches(true, 100_000, false)},
		"grpc-runs":    {true, rpcBatches(true, 1_000_000, true)},
	}
)

// beClient is one client, which writes its IDs a second and how much of a core it used.
func beClient(ctx context.Context, name, address string, d time.Duration) error {
	c, ok := clients[name]
	if !ok {
		return fmt.Errorf("there is no client %q", name)
	}
	start := time.Now()
	n, err := c.run(ctx, address, start.Add(d))
	if err != nil {
		return err
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	took := time.Since(start)
	fmt.Println(float64(n)/took.Seconds(), used.Seconds()/took.Seconds())
	return nil
}

// expand writes the IDs of a run to memory, as a client would that hands them out, and
// checks the ends.
func expand(dst []int64, first, last, step int64) ([]int64, error) {
	if step <= 0 || last < first {
		return nil, fmt.Errorf("a run from %d to %d by %d", first, last, step)
	}
	n := (last-first)/step + 1
	if int64(cap(dst)) < n {
		dst = make([]int64, n)
	}
	dst = dst[:n]
	id, all := first, dst
	for len(all) >= 8 {
		d := (*[8]int64)(all)
		d[0], d[1], d[2], d[3] = id, id+step, id+2*step, id+3*step
		d[4], d[5], d[6], d[7] = id+4*step, id+5*step, id+6*step, id+7*step
		id += 8 * step
		all = all[8:]
	}
	for i := range all {
		all[i] = id
		id += step
	}
	if dst[n-1] != last {
		return nil, fmt.Errorf("a run from %d by %d ends with %d, not %d", first, step, dst[n-1], last)
	}
	return dst, nil
}
