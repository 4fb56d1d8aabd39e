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

// measureHTTP measures GET of one ID against the bare server under wrk.
func (b *bench) measureHTTP(s *servers) error {
	for name, url := range map[string]string{
		"snowfence": "http://" + s.http + "/v1/default/next", "bare": "http://" + s.bareHTTP + "/",
	} {
		if _, err := b.runWrk(url, b.time/4); err != nil { // warm
			return err
		}
		rate, err := b.runWrk(url, b.time)
		if err != nil {
			return err
		}
		sample(rate, "http/%s", name)
	}
	return nil
}

// runWrk returns the requests a second.
func (b *bench) runWrk(url string, d time.Duration) (float64, error) {
	c := on(1, "wrk", "-t", "1", "-c", "50", "-d", fmt.Sprint(max(1, int(d.Seconds())), "s"), "-H",
		"Authorization: Bearer "+token, url)
	out, err := exec.CommandContext(b.ctx, c.Path, c.Args[1:]...).CombinedOutput()
	m := perSecond.FindSubmatch(out)
	if err != nil || m == nil || bytes.Contains(out, []byte("Non-2xx")) {
		return 0, fmt.Errorf("wrk of %s: %v: %s", url, err, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
