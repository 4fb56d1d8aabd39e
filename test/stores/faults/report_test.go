//go:build linux

package faults

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// row is what was seen of one fault on one store.
type row struct {
	fault, store string
	processes    int
	ids, twice   int64
	silence      time.Duration // longest of any process
	healed       time.Duration // from the end of the fault to the next ID of the last process
	said         string
}

type report struct {
	mu     sync.Mutex
	rows   []row
	matrix string // who notices what, see TestGoingBack
	day    string // what is said of troubles, see TestOperatorsDay
}

// seen is what the tests of this run saw.
var seen report

func (r *report) add(x row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.said = short(strings.TrimSpace(x.said))
	i := slices.IndexFunc(r.rows, func(y row) bool { return y.fault == x.fault && y.store == x.store })
	if i < 0 {
		r.rows = append(r.rows, x)
		return
	}
	y := &r.rows[i] // it came more than once
	y.ids, y.twice = y.ids+x.ids, max(y.twice, x.twice)
	y.silence, y.healed, y.said = max(y.silence, x.silence), max(y.healed, x.healed), cmp.Or(y.said, x.said)
}

func (r *report) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path == "" || len(r.rows) == 0 && r.matrix+r.day == "" {
		return nil
	}
	order := map[string]int{} // faults in the order in which they were first seen
	for i, x := range r.rows {
		if _, ok := order[x.fault]; !ok {
			order[x.fault] = i
		}
	}
	slices.SortStableFunc(r.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(order[a.fault], order[b.fault]), cmp.Compare(a.store, b.store))
	})
	var b strings.Builder
	b.WriteString("| fault | store | processes | IDs | duplicates | longest silence | IDs again after | what a " +
		"user reads |\n|---|---|---|---|---|---|---|---|\n")
	for _, x := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s | %s | %s |\n", x.fault, x.store,
			x.processes, x.ids, x.twice, seconds(x.silence), seconds(x.healed), strings.ReplaceAll(x.said, "|", "\\|"))
	}
	b.WriteString(r.matrix + r.day)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// frame is what stands around the cause in a line of the log.
var (
	frame   = regexp.MustCompile(`^time=\S+ level=\S+ msg=(?:"([^"]*)"|(\S+)) .*?cause=(.*)$`)
	numbers = regexp.MustCompile(`127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?`)
)

// short returns the part of a line of the log that says what happened.
func short(line string) string {
	if m := frame.FindStringSubmatch(line); m != nil {
		line = m[1] + m[2] + ": " + strings.Trim(strings.ReplaceAll(m[3], `\"`, `"`), `"`)
	}
	line = numbers.ReplaceAllString(line, "HOST")
	if len(line) > 220 {
		line = strings.ToValidUTF8(line[:217], "") + "…"
	}
	return line
}
