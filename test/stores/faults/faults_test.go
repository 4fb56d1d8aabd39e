//go:build linux

package faults

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func always(*target) bool { return true }

// replicated are the kinds of stores where another server takes over.
var replicated = []string{"etcd, three members", "Redis, two replicas behind Sentinel"}

// later are the kinds that make full plays.
var later = []string{"MariaDB", "etcd", "Kubernetes", "DynamoDB", "S3", "Redis, two replicas behind Sentinel"}

func hasServer(tg *target) bool { return tg.pids != nil }
func hasLink(tg *target) bool   { return tg.link != nil }
func hasDisk(tg *target) bool   { return tg.disk != nil }
func hasGate(tg *target) bool   { return tg.gate != nil }
func hasEtcd(tg *target) bool   { return tg.etcd != nil }

// hasFiles are targets whose server, or whose workers, write files that a
// test can slow down.
func hasFiles(tg *target) bool { return tg.pids != nil || tg.link == nil }

var throttled = regexp.MustCompile(`429|ProvisionedThroughputExceeded|SlowDown`)

// not matches what the lease logs when a renewal fails, whatever the
// reason.
var notRenewed = regexp.MustCompile(`lease (not renewed|lost)`)

var faults = []fault{
	{name: "a holder is killed (SIGKILL), a successor takes its node", fits: always, begin: killHolder},
	{name: "a holder is stopped (SIGSTOP) for longer than its lease", fits: always, begin: stopHolder},
	{
		name: "a holder is stopped, its node is taken over, it goes on", fits: always, begin: takeOver,
		words: regexp.MustCompile(`lease lost.*another process changed`),
	},
	{
		name: "another program locks the file", fits: func(tg *target) bool { return tg.lock != nil }, stops: true,
		words: regexp.MustCompile(`write lock of the file`),
		begin: func(t testing.TB, sc *scene) func() { return sc.lock(t) },
	},
	{
		name: "the store is killed (SIGKILL) and started again", fits: hasServer, stops: true, calm: replicated,
		words: notRenewed,
		begin: func(t testing.TB, sc *scene) func() {
			sc.kill()
			return func() { sc.restart(t) }
		},
	},
	{
		name: "the store is stopped (SIGSTOP)", fits: hasServer, stops: true, calm: replicated, words: notRenewed,
		begin: func(_ testing.TB, sc *scene) func() {
			root := sc.pids()[0]
			signalTree(root, syscall.SIGSTOP)
			return func() { signalTree(root, syscall.SIGCONT) }
		},
	},
	{
		name: "the etcd behind the API server is killed (SIGKILL) and started again", fits: hasEtcd, stops: true,
		words: notRenewed,
		begin: func(t testing.TB, sc *scene) func() {
			sc.etcd.Kill()
			return func() { sc.etcd.Restart(t); sc.etcd.AwaitHealthy(t) }
		},
	},
	{
		name: "the etcd behind the API server is stopped (SIGSTOP)", fits: hasEtcd, stops: true, words: notRenewed,
		begin: func(t testing.TB, sc *scene) func() {
			sc.etcd.Signal(t, syscall.SIGSTOP)
			return func() { sc.etcd.Signal(t, syscall.SIGCONT) }
		},
	},
	{
		name: "the store refuses requests, because it gets too many", fits: hasGate, stops: true, words: throttled,
		begin: busy(1),
	},
	{name: "the store refuses every fifth request", fits: hasGate, words: throttled, begin: busy(5)},
	{
		// a client that dials again until its time is up says that
		name: "partition: connections are refused", fits: hasLink, stops: true,
		words: regexp.MustCompile(`refused|reset|EOF|closed|[Uu]navailable|no answer|deadline`),
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Cut(t) },
	},
	{
		name: "partition: connections are refused for a minute", fits: hasLink, stops: true, words: notRenewed,
		holds: time.Minute, long: true,
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Cut(t) },
	},
	{
		name: "partition: packets vanish", fits: hasLink, stops: true, words: regexp.MustCompile(`timeout|deadline|DeadlineExceeded`),
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Swallow(t, "upstream", "downstream") },
	},
	{
		name: "partition: requests arrive, replies vanish", fits: hasLink, stops: true, words: regexp.MustCompile(`timeout|deadline|DeadlineExceeded`),
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Swallow(t, "downstream") },
	},
	{
		name: "the network takes 100 ± 50 ms each way", fits: hasLink,
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Delay(t, 100, 50) },
	},
	{
		name: "the network takes 1.5 s each way", fits: hasLink, words: regexp.MustCompile(`timeout|deadline|DeadlineExceeded`), long: true,
		begin: func(t testing.TB, sc *scene) func() { return sc.link.Delay(t, 1500, 0) },
	},
	{
		name: "the store is read-only", stops: true,
		fits:  func(tg *target) bool { return tg.readOnly != nil || tg.pids == nil && tg.link == nil },
		words: regexp.MustCompile(`(?i)read.?only|disk I/O error|NOSPACE|reached its limit`), begin: readOnly,
	},
	{
		name: "fsync takes 200 ms", fits: hasFiles,
		begin: func(t testing.TB, sc *scene) func() { return sc.slow(t, 200*time.Millisecond) },
	},
	{
		name: "fsync takes 5 s", fits: hasFiles, stops: true, calm: replicated, words: notRenewed, long: true,
		begin: func(t testing.TB, sc *scene) func() { return sc.slow(t, 5*time.Second) },
	},
	{
		// which take room ahead of time
		name: "the disk is full", fits: hasDisk, stops: true, calm: []string{"MariaDB", "PostgreSQL", "etcd"},
		words: regexp.MustCompile(`\bfull\b|[Nn]o space|refused|EOF|closed`),
		begin: func(t testing.TB, sc *scene) func() {
			if sc.empty != nil {
				sc.empty(t)
			}
			free := sc.disk.fill(t)
			if sc.press != nil {
				sc.press(t)
			}
			return func() {
				free()
				if sc.dead != nil && sc.dead() {
					sc.restart(t)
				}
			}
		},
	},
}

// TestFaults lets processes make IDs from each kind of store while one
// fault after the other befalls it. No ID is made twice over all of it,
// generation stops where the store can no longer be asked, at what it had
// acknowledged, and goes on by itself after the fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	for k, kind := range slices.Sorted(maps.Keys(targets)) {
		t.Run(kind, func(t *testing.T) {
			if slices.Contains(later, kind) {
				servers.Later(t)
			}
			t.Parallel()
			tg := targets[kind](t)
			if tg.fresh != nil {
				t.Run("first users", func(t *testing.T) { birth(t, tg) })
			}
			sc := open(t, tg, 3)
			for i, f := range faults {
				// in short form, servers share the faults among them
				mine := tg.pids == nil || (i+k)%3 == 0
				if f.fits(sc.target) && (*long || !f.long && mine) {
					t.Run(f.name, func(t *testing.T) { sc.suffer(t, f) })
				}
			}
			sc.finish(t)
		})
	}
}

// killHolder kills a worker and starts two: one takes over its node, whose
// last grant has not run out, and one takes any.
func killHolder(t testing.TB, sc *scene) func() {
	w := sc.workers[0]
	node := sc.node(t, w)
	w.kill()
	sc.dismiss(w)
	successor := sc.hire("-node", strconv.FormatInt(node, 10))
	sc.works(t, successor, mark{})
	sc.vacancy = successor.firstAfter(time.UnixMicro(w.at[len(w.at)-1]))
	sc.dismiss(successor)
	sc.works(t, sc.hire(), mark{})
	successor.kill()
	return nil
}

// lapse waits until the end of a node's grant has passed by the clock.
func (sc *scene) lapse(t testing.TB, node int64) {
	t.Helper()
	within(t, patience, "the grant has run out", func() bool {
		rs, _, err := sc.store.Get(t.Context(), []store.Key{{Namespace: namespace, Node: node}})
		return err == nil && rs[0].Until < sc.scheme.Layout().TickOf(time.Now())
	})
}

// stopHolder stops a worker until its grant has run out.
func stopHolder(t testing.TB, sc *scene) func() {
	w := sc.workers[0]
	w.signal(t, syscall.SIGSTOP)
	sc.lapse(t, sc.node(t, w))
	w.signal(t, syscall.SIGCONT)
	return nil
}

// takeOver stops a worker, gives its node to another, and lets it go on
// while the other works.
func takeOver(t testing.TB, sc *scene) func() {
	w := sc.workers[0]
	w.signal(t, syscall.SIGSTOP)
	other := sc.hire("-node", strconv.FormatInt(sc.node(t, w), 10))
	sc.works(t, other, mark{})
	m := w.mark()
	w.signal(t, syscall.SIGCONT)
	sc.works(t, w, m)
	sc.works(t, other, other.mark())
	other.kill()
	sc.dismiss(other)
	return nil
}

// readOnly makes the server refuse writes, or lets the writes of those who
// write the file themselves fail as on a disk that the system mounted
// read-only after an error.
func readOnly(t testing.TB, sc *scene) func() {
	if sc.readOnly == nil {
		return tamper(t, sc.writers(), "pwrite64,ftruncate,fallocate", "error=EROFS")
	}
	sc.readOnly(t, true)
	return func() { sc.readOnly(t, false) }
}

// slow makes each fsync of those who write the data take so long.
func (sc *scene) slow(t testing.TB, d time.Duration) func() {
	return tamper(t, sc.writers(), "fsync,fdatasync", "delay_enter="+strconv.FormatInt(d.Microseconds(), 10))
}

// writers returns the processes that write the data.
func (sc *scene) writers() []int {
	switch {
	case sc.etcd != nil:
		return tree(sc.etcd.Pid())
	case sc.pids != nil:
		return sc.pids()
	}
	var pids []int
	for _, w := range sc.workers {
		pids = append(pids, w.cmd.Process.Pid)
	}
	return pids
}
