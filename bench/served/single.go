package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// side is one of the servers that redis-benchmark talks to.
type side struct {
	name    string
	p       process
	port    int
	command []string
}

// single measures single IDs over the Redis protocol against INCR, by turns, with 50 connections.
func (b *bench) single(s *servers, pinned bool) error {
	sides := []side{
		{"snowfence", s.snowfence, s.resp, []string{"SNOWFENCE.NEXT", "default"}},
		{"redis", s.redis, s.redisPort, []string{"INCR", "counter"}},
	}
	where := "pinned"
	if !pinned {
		where = "free"
	}
	for _, depth := range []int{1, 16, 64} {
		for _, side := range sides {
			n, err := b.howMany(side, pinned, depth)
			if err != nil {
				return err
			}
			before, err := side.p.cpu()
			if err != nil {
				return err
			}
			rate, client, err := b.redisBenchmark(side, pinned, depth, n)
			if err != nil {
				return err
			}
			after, err := side.p.cpu()
			if err != nil {
				return err
			}
			sample(rate, "single/%s/P=%d/%s/rate", where, depth, side.name)
			sample((after-before)/float64(n)*1e9, "single/%s/P=%d/%s/cpu-ns", where, depth, side.name)
			sample(client, "single/%s/P=%d/%s/client", where, depth, side.name)
		}
	}
	return nil
}

// howMany returns how many commands take about the time of a row. The short run also warms the server up.
func (b *bench) howMany(side side, pinned bool, depth int) (int, error) {
	rate, _, err := b.redisBenchmark(side, pinned, depth, 20_000*depth)
	return max(20_000, int(rate*b.time.Seconds())), err
}

var rps = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark returns the commands a second, and how much of a core the client used.
func (b *bench) redisBenchmark(side side, pinned bool, depth, n int) (rate, client float64, err error) {
	args := append([]string{
		"-p", strconv.Itoa(side.port), "-c", "50", "-n", strconv.Itoa(n), "-P", strconv.Itoa(depth), "-q", "-e",
	}, side.command...)
	if side.name == "snowfence" {
		args = append([]string{"-a", token}, args...)
	}
	if !pinned {
		args = append([]string{"--threads", "2"}, args...)
	}
	c := on(1, pinned, "redis-benchmark", args...)
	cmd := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("redis-benchmark of %s: %w: %s", side.name, err, stderr.Bytes())
	}
	m := rps.FindAllSubmatch(out, -1)
	if len(m) == 0 || bytes.Contains(out, []byte("Error")) {
		return 0, 0, fmt.Errorf("redis-benchmark of %s wrote %q", side.name, out)
	}
	rate, err = strconv.ParseFloat(string(m[len(m)-1][1]), 64)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return rate, used.Seconds() / time.Since(start).Seconds(), err
}
