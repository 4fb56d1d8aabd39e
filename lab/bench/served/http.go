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

var perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// measureHTTP measures GET of one ID, and of a thousand as JSON, against the bare server under wrk.
func (b *bench) measureHTTP(s *servers) error {
	for _, row := range []struct {
		name string
		p    process
		url  string
		ids  int
	}{
		{"one/snowfence", s.snowfence, "http://" + s.http + "/v1/default/next", 1},
		{"one/bare", s.bare, "http://" + s.bareHTTP + "/", 1},
		{"thousand/snowfence", s.snowfence, "http://" + s.http + "/v1/wide/next?n=1000", 1000},
		{"thousand/bare", s.bare, "http://" + s.bareHTTP + "/json?n=1000", 1000},
	} {
		if _, _, err := b.runWrk(row.url, row.p, b.time/4); err != nil { // warm
			return err
		}
		rate, cpu, err := b.runWrk(row.url, row.p, b.time)
		if err != nil {
			return err
		}
		sample(rate, "http/%s/rate", row.name)
		sample(cpu/float64(row.ids)*1e9, "http/%s/cpu-ns", row.name)
	}
	return nil
}

// runWrk returns the requests a second and the CPU seconds of the server for each.
func (b *bench) runWrk(url string, p process, d time.Duration) (rate, cpu float64, err error) {
	before, err := p.processorTime()
	if err != nil {
		return 0, 0, err
	}
	c := on(1, true, "wrk", "-t", "1", "-c", "50", "-d", fmt.Sprint(max(1, int(d.Seconds())), "s"), "-H",
		"Authorization: Bearer "+token, url)
	start := time.Now()
	out, err := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...).CombinedOutput()
	took := time.Since(start).Seconds()
	m := perSecond.FindSubmatch(out)
	if err != nil || m == nil || bytes.Contains(out, []byte("Non-2xx")) {
		return 0, 0, fmt.Errorf("wrk of %s: %v: %s", url, err, out)
	}
	if rate, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
		return 0, 0, err
	}
	after, err := p.processorTime()
	return rate, (after - before) / (rate * took), err
}
