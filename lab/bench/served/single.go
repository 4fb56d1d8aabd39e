//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// side is one of the servers that redis-benchmark talks to.
type side struct {
	row     string // of the figures
	name    string
	p       process
	port    int
	command []string
}

// measureSingle measures single IDs, or numbers of a sequence, over the
// Redis protocol against INCR of redis-server, by turns, with 50
// connections.
func (b *bench) measureSingle(s *servers, row string, command ...string) error {
	sides := []side{
		{row, "snowfence", s.snowfence, s.resp, command},
		{row, "redis", s.redis, s.redisPort, []string{"INCR", "counter"}},
	}
	for _, depth := range []int{1, 16, 64} {
		var many [2]int
		for i, side := range sides {
			n, err := b.howMany(side, depth)
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
				if rate[i], cpu[i], err = b.measureSide(sides[i], depth, many[i]); err != nil {
					return err
				}
			}
			sample(rate[0]/rate[1], "%s/P=%d/times", row, depth)
			sample(cpu[0]/cpu[1], "%s/P=%d/cpu-times", row, depth)
		}
	}
	return nil
}

// turns is how many pairs of a row there are in a round. The sides of a
// comparison are measured within a second or two, because the speed of a
// virtual machine changes by a fifth from one minute to the next.
const turns = 4

// measureSide measures n commands of one side, and returns the commands a
// second and the processor time of each.
func (b *bench) measureSide(side side, depth, n int) (rate, cpu float64, err error) {
	before, err := side.p.processorTime()
	if err != nil {
		return 0, 0, err
	}
	rate, err = b.redisBenchmark(side, 50, depth, n)
	if err != nil {
		return 0, 0, err
	}
	after, err := side.p.processorTime()
	if err != nil {
		return 0, 0, err
	}
	cpu = (after - before) / float64(n) * 1e9
	sample(rate, "%s/P=%d/%s/rate", side.row, depth, side.name)
	return rate, cpu, nil
}

// howMany returns how many commands take about half the time of a row. The
// short run also warms the server up.
func (b *bench) howMany(side side, depth int) (int, error) {
	rate, err := b.redisBenchmark(side, 50, depth, 20_000*depth)
	return max(20_000, int(rate*b.time.Seconds()/2)), err
}

var rps = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark returns the commands a second.
func (b *bench) redisBenchmark(side side, connections, depth, n int) (rate float64, err error) {
	args := append([]string{
		"-p", strconv.Itoa(side.port), "-c", strconv.Itoa(connections), "-n", strconv.Itoa(n),
		"-P", strconv.Itoa(depth), "-q", "-e",
	}, side.command...)
	if side.name == "snowfence" {
		args = append([]string{"-a", token}, args...)
	}
	c := on(1, "redis-benchmark", args...)
	cmd := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark of %s: %w: %s", side.name, err, stderr.Bytes())
	}
	m := rps.FindAllSubmatch(out, -1)
	if len(m) == 0 || bytes.Contains(out, []byte("Error")) {
		return 0, fmt.Errorf("redis-benchmark of %s wrote %q", side.name, out)
	}
	return strconv.ParseFloat(string(m[len(m)-1][1]), 64)
}
