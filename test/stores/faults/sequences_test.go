//go:build linux

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// counted is a sequence under faults, and the programs that take its
// numbers.
type counted struct {
	name   string
	mode   sequence.Mode
	tx     bool      // in transactions
	takers []*worker // that run
	all    []*worker // also those that ended
}

// counting is a store under faults, one after the other, and the sequences
// in it.
type counting struct {
	*target
	t         testing.TB
	sequences []*counted
	port      int
	server    *worker // snowfence serve over the store
}

// TestSequenceFaults lets programs take numbers from each kind of store,
// and from "snowfence serve" over it, while one fault after the other
// befalls them. No number comes twice, strict ones rise over all programs,
// numbers of transactions have no gap, and all programs go on by
// themselves.
func TestSequenceFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range slices.Sorted(maps.Keys(targets)) {
		if slices.Contains(replicated, kind) || !*long && kind != "PostgreSQL" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := count(t, targets[kind](t))
			for _, f := range slices.Concat(takerFaults, faults) {
				alike := slices.ContainsFunc(sameForTakers, func(part string) bool {
					return strings.Contains(f.name, part)
				})
				if alike && f.fits(c.target) && (*long || slices.Contains(shortly, f.name)) {
					t.Run(f.name, func(t *testing.T) { c.suffer(t, f) })
				}
			}
			c.finish(t)
		})
	}
}

// shortly are the faults that are played without -long.
var shortly = []string{takersKilled, serverKilled, "the store is killed (SIGKILL) and started again"}

// sameForTakers are parts of the names of faults that takers can have as
// well as holders.
var sameForTakers = []string{"taker", "the store is", "partition", "network", "fsync", "locks the file", "disk is full"}

const (
	takersKilled  = "a taker of each sequence is killed (SIGKILL)"
	takersStopped = "a taker of each sequence is stopped (SIGSTOP)"
	serverKilled  = "the server that takers ask is killed (SIGKILL) and started again"
)

// takerFaults are the faults of the programs.
var takerFaults = []fault{
	{name: takersKilled, fits: always},
	{name: serverKilled, fits: always, holds: 3 * time.Second},
	{name: takersStopped, fits: hasServer}, // one that stops while it has the lock of a file stops all
}

// count makes the sequences and starts their programs.
func count(t testing.TB, tg *target) *counting {
	t.Helper()
	c := &counting{target: tg, t: t, sequences: []*counted{
		{name: "fast", mode: sequence.Fast}, {name: "dense", mode: sequence.Dense}, {name: "strict", mode: sequence.Strict},
	}}
	if c.sql() {
		c.sequences = append(c.sequences, &counted{name: "bills", mode: sequence.Strict, tx: true})
		db, _, err := kinds.Database(tg.url, time.Second)
		must(t, err)
		t.Cleanup(func() { _ = db.Close() })
		fleet.Eventually(t, "the table of bills", func() error {
			_, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS bills (number BIGINT PRIMARY KEY)")
			return err
		})
	}
	for _, s := range c.sequences {
		d := sequence.Definition{Mode: s.mode, MinRange: 10, MaxRange: 200}
		if tg.kind == "Redis" { // each start of the server is another identity, and this one loses nothing
			d.AfterFailover = sequence.Trust
		}
		fleet.Eventually(t, "the sequence "+s.name, func() error {
			return sequence.Create(t.Context(), tg.store, s.name, d)
		})
	}
	c.port = servers.Ports(t, 1)[0]
	c.serve(t)
	for _, s := range c.sequences {
		c.hire(s)
		c.hire(s)
	}
	c.goOn(t, nil)
	return c
}

// serve starts the server, and waits until it is ready.
func (c *counting) serve(t testing.TB) {
	c.server = launch(c.t, "server", nil, snowfencePath(c.t), "serve", "--store", c.programURL(), "--http",
		servers.Address(c.port), "--resp", "")
	within(t, patience, "the server is ready", func() bool {
		if !c.server.alive() {
			t.Fatalf("the server ended: %s", last(c.server.log, 5))
		}
		_, err := servers.Get(t.Context(), "http://"+servers.Address(c.port)+"/readyz")
		return err == nil
	})
}

// sql reports whether the store is a database with transactions.
func (c *counting) sql() bool {
	return slices.Contains([]string{"SQLite", "PostgreSQL", "MariaDB"}, c.kind)
}

// hire starts a program, over the store and over the server by turns.
func (c *counting) hire(s *counted) {
	name, url := fmt.Sprint(s.name, " ", len(s.all)), c.url
	if len(s.all)%2 == 1 && !s.tx {
		url = "http://" + servers.Address(c.port)
	}
	path := program(c.t, "github.com/snowfence/snowfence/test/stores/faults/taker")
	w := launch(c.t, name, nil, path, "-store", url, "-name", s.name, fmt.Sprint("-tx=", s.tx))
	s.takers, s.all = append(s.takers, w), append(s.all, w)
}

// last returns the time of the last number of each program.
func (c *counting) last() map[*worker]int {
	n := map[*worker]int{}
	for _, s := range c.sequences {
		for _, w := range s.takers {
			w.mu.Lock()
			n[w] = len(w.taken)
			w.mu.Unlock()
		}
	}
	return n
}

// goOn waits until each program has taken a few numbers more than before.
func (c *counting) goOn(t testing.TB, before map[*worker]int) {
	t.Helper()
	for _, s := range c.sequences {
		for _, w := range s.takers {
			within(t, patience, w.name+" takes numbers", func() bool {
				if !w.alive() {
					t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.taken) > before[w]+2
			})
		}
	}
}

// felt waits until each program has got an error, or a few numbers in spite
// of the fault.
func (c *counting) felt(t testing.TB) {
	before := c.last()
	errors := map[*worker]int{}
	for w := range before {
		errors[w] = w.mark().errors
	}
	within(t, patience, "the fault is felt by all", func() bool {
		now := c.last()
		for w, n := range before {
			if now[w] < n+20 && w.mark().errors == errors[w] {
				return false
			}
		}
		return true
	})
}

// suffer lets a fault happen, and checks all numbers when it is over.
func (c *counting) suffer(t *testing.T, f fault) {
	end := func() {}
	switch f.name {
	case takersKilled:
		for _, s := range c.sequences {
			s.takers[0].kill()
			s.takers = s.takers[1:]
			c.hire(s)
		}
	case serverKilled:
		c.server.kill()
		c.felt(t)
		time.Sleep(f.holds)
		end = func() { c.serve(t) }
	case takersStopped:
		stopped := c.pause(t)
		before := c.last()
		c.goOn(t, before)
		for s, w := range stopped {
			w.signal(t, syscall.SIGCONT)
			s.takers = append(s.takers, w)
		}
	default:
		sc := &scene{target: c.target, t: c.t}
		for _, s := range c.sequences {
			sc.workers = append(sc.workers, s.takers...)
		}
		if begun := f.begin(t, sc); begun != nil {
			end = begun
		}
		c.felt(t)
		time.Sleep(f.holds)
	}
	healed := c.last()
	end()
	c.goOn(t, healed)
	c.check(t)
}

// pause stops one taker of each sequence that is not in the middle of a
// transaction: such a one would make all others wait, as the documentation
// says.
func (c *counting) pause(t testing.TB) map[*counted]*worker {
	stopped := map[*counted]*worker{}
	for _, s := range c.sequences {
		if !s.tx {
			w := s.takers[0]
			w.signal(t, syscall.SIGSTOP)
			stopped[s], s.takers = w, s.takers[1:]
		}
	}
	return stopped
}

// finish ends all programs and checks everything once more.
func (c *counting) finish(t *testing.T) {
	for _, s := range c.sequences {
		end(t, s.takers...)
	}
	end(t, c.server)
	n := c.check(t)
	if c.sql() {
		c.checkBills(t)
	}
	t.Logf("%s: %d numbers, none twice", c.kind, n)
}

// check compares all numbers of each sequence, and the order of strict
// ones.
func (c *counting) check(t *testing.T) (all int) {
	for _, s := range c.sequences {
		var calls []fleet.Call
		for _, w := range s.all {
			w.mu.Lock()
			calls = append(calls, w.taken...)
			w.mu.Unlock()
		}
		seen := map[int64]bool{}
		for _, k := range calls {
			if seen[k.Number] {
				t.Errorf("number %d of %s came twice", k.Number, s.name)
			}
			seen[k.Number] = true
		}
		if s.mode == sequence.Strict {
			fleet.Risen(t, s.name, calls)
		}
		all += len(calls)
	}
	return all
}

// checkBills looks for gaps among the bills, and for bills that a program
// was told of and that are not there.
func (c *counting) checkBills(t *testing.T) {
	db, _, err := kinds.Database(c.url, time.Second)
	must(t, err)
	defer db.Close()
	var count, highest int64
	fleet.Eventually(t, "the bills", func() error {
		return db.QueryRowContext(t.Context(), "SELECT COUNT(*), MAX(number) FROM bills").Scan(&count, &highest)
	})
	if count == 0 || count != highest {
		t.Errorf("%d bills, and the highest number is %d: there are gaps", count, highest)
	}
	for _, s := range c.sequences {
		for _, w := range s.all {
			for _, k := range w.taken {
				if s.tx && k.Number > highest {
					t.Errorf("bill %d was committed, and is not there", k.Number)
				}
			}
		}
	}
	info, err := sequence.Show(t.Context(), c.store, "bills")
	if err != nil || info.Next != highest+1 {
		t.Errorf("the next bill is %d, %v, and the highest one %d", info.Next, err, highest)
	}
}
