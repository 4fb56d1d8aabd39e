//go:build linux

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
	row     string // of the figures
	name    string
	p       process
	port    int
	command []string
}

// measureSingle measures single IDs, or numbers of a sequence, over the Redis protocol against INCR
// of redis-server, by turns, with 50 connections.
func (b *bench) measureSingle(s *servers, pinned bool, row string, command ...string) error {
	sides := []side{
		{row, "snowfence", s.snowfence, s.resp, command},
		{row, "redis", s.redis, s.redisPort, []string{"INCR", "counter"}},
	}
	where := "pinned"
	if !pinned {
		where = "free"
	}
	for _, depth := range []int{1, 16, 64} {
		var many [2]int
		for i, side := range sides {
			n, err := b.howMany(side, pinned, depth)
			if err != nil {
				return err
			}
			many[i] = n
		}
		for turn := range turns {
			var rate, cpu [2]float64
			for j := range sides {
				i := (j + turn) % len(sides) // each is the first one of a pair as often as the other
				var err error
				if rate[i], cpu[i], err = b.measureSide(sides[i], where, depth, many[i]); err != nil {
					return err
				}
			}
			sample(rate[0]/rate[1], "%s/%s/P=%d/times", row, where, depth)
			sample(cpu[0]/cpu[1], "%s/%s/P=%d/cpu-times", row, where, depth)
		}
	}
	return nil
}

// turns is how many pairs of a row there are in a round. The sides of a comparison are measured
// within a second or two, because the speed of a virtual machine changes by a fifth from one minute
// to the next.
const turns = 4

// measureSide measures n commands of one side, and returns the commands a second and the
// processor time of each.
func (b *bench) measureSide(side side, where string, depth, n int) (rate, cpu float64, err error) {
	before, err := side.p.processorTime()
	if err != nil {
		return 0, 0, err
	}
	rate, client, err := b.redisBenchmark(side, where == "pinned", 50, depth, n)
	if err != nil {
		return 0, 0, err
	}
	after, err := side.p.processorTime()
	if err != nil {
		return 0, 0, err
	}
	cpu = (after - before) / float64(n) * 1e9
	sample(rate, "%s/%s/P=%d/%s/rate", side.row, where, depth, side.name)
	sample(cpu, "%s/%s/P=%d/%s/cpu-ns", side.row, where, depth, side.name)
	sample(client, "%s/%s/P=%d/%s/client", side.row, where, depth, side.name)
	return rate, cpu, nil
}

// howMany returns how many commands take about half the time of a row. The short run also
// warms the server up.
func (b *bench) howMany(side side, pinned bool, depth int) (int, error) {
	rate, _, err := b.redisBenchmark(side, pinned, 50, depth, 20_000*depth)
	return max(20_000, int(rate*b.time.Seconds()/2)), err
}

var rps = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark returns the commands a second, and how much of a core the client used.
func (b *bench) redisBenchmark(
	side side, pinned bool, connections, depth, n int,
) (rate, client float64, err error) {
	args := append([]string{
		"-p", strconv.Itoa(side.port), "-c", strconv.Itoa(connections), "-n", strconv.Itoa(n),
		"-P", strconv.Itoa(depth), "-q", "-e",
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
