//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// batch is a row: requests on one connection, each for count IDs.
type batch struct {
	name  string
	wire  string // resp, connect or grpc
	count int
	runs  bool
}

// batches are measured in this order.
var batches = []batch{
	{"resp-100000", "resp", 100_000, false},
	{"grpc-1000", "grpc", 1000, false},
	{"resp-runs", "resp", 1_000_000, true},
	{"grpc-runs", "grpc", 1_000_000, true},
}

// measureBatches measures how many IDs one connection carries. The clients
// run on the second core.
func (b *bench) measureBatches(s *servers) error {
	for _, row := range batches {
		ask := b.askRPC
		if row.wire == "resp" {
			ask = b.askRedis
		}
		rate, err := ask(s, row)
		if err != nil {
			return err
		}
		sample(rate, "batch/%s/rate", row.name)
	}
	return nil
}

// askRedis asks by redis-benchmark, with two requests under way, so that
// neither side waits for the other's answer.
func (b *bench) askRedis(s *servers, row batch) (rate float64, err error) {
	command := []string{"SNOWFENCE.NEXT", "wide", "COUNT", strconv.Itoa(row.count)}
	if row.runs {
		command = append(command, "RUNS")
	}
	side := side{"batch", "snowfence", s.snowfence, s.resp, command}
	short, err := b.redisBenchmark(side, 1, 2, max(20, 1_000_000/row.count))
	if err != nil {
		return 0, err
	}
	rate, err = b.redisBenchmark(side, 1, 2, max(20, int(short*b.time.Seconds())))
	return rate * float64(row.count), err
}

// askRPC asks by this program again, as a process of its own.
func (b *bench) askRPC(s *servers, row batch) (rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	c := on(1, self, "-client", row.name, "-address", s.http, "-time", b.time.String())
	cmd := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("client %s: %w: %s", row.name, err, stderr.Bytes())
	}
	if _, err := fmt.Sscan(string(out), &rate); err != nil {
		return 0, fmt.Errorf("client %s wrote %q", row.name, out)
	}
	return rate, nil
}

// beClient is one client. It writes its rate, in IDs a second.
func beClient(ctx context.Context, name, address string, d time.Duration) error {
	i := slices.IndexFunc(batches, func(row batch) bool { return row.name == name && row.wire != "resp" })
	if i < 0 {
		return fmt.Errorf("there is no client %q", name)
	}
	start := time.Now()
	n, err := batches[i].askUntil(ctx, address, start.Add(d))
	if err != nil {
		return err
	}
	fmt.Println(float64(n) / time.Since(start).Seconds())
	return nil
}
