package load

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

var said = []*regexp.Regexp{
	regexp.MustCompile(`HTTP, gRPC and Connect on http://(\S+)`), regexp.MustCompile(`Redis protocol on (\S+)`),
	regexp.MustCompile(`metrics and health on http://(\S+)`),
}

// addresses reads where the server listens from what it said at its start.
func (s *crowded) addresses() error {
	log, err := os.ReadFile(s.Log)
	if err != nil {
		return err
	}
	for i, at := range []*string{&s.http, &s.resp, &s.admin} {
		m := said[i].FindSubmatch(log)
		if m == nil {
			return errors.New("the server has not said where it listens")
		}
		*at = string(m[1])
	}
	if !strings.Contains(string(log), "msg=ready") {
		return errors.New("the server is not ready")
	}
	return nil
}

// ask gets a page of the admin address.
func (s *crowded) ask(t testing.TB, path string) string {
	t.Helper()
	page, err := servers.Get(t.Context(), "http://"+s.admin+path)
	must(t, err)
	return page
}

// number is the first number behind a text.
func number(t testing.TB, page, after string) int64 {
	t.Helper()
	_, rest, found := strings.Cut(page, after)
	rest = rest[:strings.IndexFunc(rest+" ", func(r rune) bool { return r < '0' || r > '9' })]
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || !found {
		t.Fatalf("there is no number behind %q: %v", after, err)
	}
	return n
}

// usage is what the server takes.
type usage struct {
	goroutines int64
	memory     int64 // heap and stacks in use after a collection, in bytes
	resident   int64 // bytes, which the system gets back later
	http, resp int64 // connections
}

func (s *crowded) usage(t testing.TB) usage {
	t.Helper()
	heap := s.ask(t, "/debug/pprof/heap?debug=1&gc=1")
	metrics := s.ask(t, "/metrics")
	u := usage{
		goroutines: number(t, s.ask(t, "/debug/pprof/goroutine?debug=1"), "goroutine profile: total "),
		memory:     number(t, heap, "# HeapAlloc = ") + number(t, heap, "# Stack = "),
		http:       number(t, metrics, `snowfence_connections{wire="http"} `),
		resp:       number(t, metrics, `snowfence_connections{wire="resp"} `),
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.Pid()))
	must(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	must(t, err)
	u.resident = pages * int64(os.Getpagesize())
	return u
}

// calm waits until the server has nothing left of a crowd. Profiles count
// goroutines that are about to end, and a pool of buffers survives a
// collection.
func (s *crowded) calm(t *testing.T, before usage, crowd int) {
	t.Helper()
	// The runtime never frees what it knows of a goroutine, 450 bytes, but
	// uses it for the next one; maps keep their size; and tables of
	// requests that came for the first time are there. What a connection
	// holds while it is there, is 14 kB and more.
	spare := int64(4<<20 + 2<<10*crowd)
	var now usage
	waitFor(t, "as few goroutines and as little memory as before", func() bool {
		now = s.usage(t)
		return now.goroutines <= before.goroutines &&
			now.memory <= before.memory+spare && now.http <= before.http && now.resp <= before.resp
	}, func() string {
		return fmt.Sprintf("before %+v, now %+v\n%.4000s", before, now, s.ask(t, "/debug/pprof/goroutine?debug=1"))
	})
}

// waitFor waits until something is so, for as long as a machine with other
// work may need.
func waitFor(t *testing.T, what string, ok func() bool, seen func() string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within three minutes: %s\n%s", what, seen())
		}
	}
}

// record is what was seen.
type record struct {
	server *crowded
	rows   []row
}

type row struct {
	when string
	usage
	took []time.Duration // by requests of the ordinary clients, sorted
}

func (r *record) note(when string, took []time.Duration) usage {
	u := r.server.usage(r.server.t)
	slices.Sort(took)
	r.rows = append(r.rows, row{when, u, took})
	return u
}

func (r *record) table() string {
	var b strings.Builder
	b.WriteString("| | connections: HTTP | Redis protocol | goroutines | heap and stacks | resident | ordinary " +
		"requests | p50 | p99 | longest |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, x := range r.rows {
		at := func(part int) string {
			if len(x.took) == 0 {
				return "–"
			}
			return fmt.Sprintf("%.1f ms", float64(x.took[(len(x.took)-1)*part/100].Microseconds())/1000)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f MB | %.1f MB | %d | %s | %s | %s |\n", x.when, x.http,
			x.resp, x.goroutines, float64(x.memory)/1e6, float64(x.resident)/1e6, len(x.took), at(50), at(99), at(100))
	}
	return b.String()
}
