//go:build linux

package faults

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/link"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// target is a store of one kind that runs, and the ways to hurt it. Ways
// that a kind does not have are nil.
type target struct {
	kind    string
	url     string // as workers reach it
	program string // what the snowfence program calls it, where that differs
	// as the test reaches it, past what is between the workers and the
	// server
	store store.Store
	fresh func(t testing.TB, round int) (url string) // an empty store beside the other, another one each round
	link  *link.Link                                 // between the workers and the server
	gate  *gate                                      // instead of the server, at times; nil where none refuses requests
	disk  *disk                                      // that holds the data
	etcd  *servers.Etcd                              // behind an API server
	// the processes of the server; nil when the workers write the files
	// themselves
	pids     func() []int
	kill     func()                      // the server, at once
	dead     func() bool                 // the server has ended by itself
	restart  func(t testing.TB)          // the server, until it answers
	readOnly func(t testing.TB, on bool) // nil when only the disk can be
	empty    func(t testing.TB)          // gives up room that was taken before, so that a full disk is felt
	// writes until a full disk is felt, where the server has room in
	// reserve
	press func(t testing.TB)
	lock  func(t testing.TB) (end func()) // holds what writers need
}

const (
	namespace = "default"
	ttl       = 2 * time.Second // of the workers' leases

	// patience is how long is waited for something that takes seconds, on a
	// machine that may be busy.
	patience = 4 * time.Minute
)

// scene is a store under faults, one after the other, and the processes
// that make IDs from it all the while.
type scene struct {
	*target
	t       testing.TB // of the whole scene: workers outlive a fault
	scheme  *snowfence.Scheme
	holder  string        // path of the workers' program: asking for it waits for tests that start servers
	workers []*worker     // that run
	all     []*worker     // also those that ended
	streams *streams      // of the program, beside the workers
	vacancy time.Duration // how long a node was without IDs in the last fault, where another process took it over
}

// limited returns options of a namespace whose floor is raised by seconds
// after a rollback.
func limited() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{MaxTTL: max(ttl, 5*time.Second), MaxSkew: ttl}
}

// open sets a scene with some workers, each of which has made IDs.
func open(t testing.TB, tg *target, workers int) *scene {
	t.Helper()
	sc := &scene{target: tg, t: t, scheme: fleet.Scheme(t, "twitter"), holder: holderPath(t)}
	fleet.Eventually(t, "the namespace", func() error { // a busy machine answers late
		_, err := scope.Namespaces(tg.store).Create(t.Context(), namespace, sc.scheme, limited())
		return err
	})
	for range workers {
		sc.hire()
	}
	sc.streams = stream(t, tg)
	for _, w := range sc.workers {
		sc.works(t, w, mark{})
	}
	return sc
}

// hire starts a worker.
func (sc *scene) hire(args ...string) *worker {
	name := fmt.Sprint("worker ", len(sc.all))
	args = append([]string{"-store", sc.url, "-namespace", namespace, "-ttl", ttl.String(), "-label", name}, args...)
	w := launch(sc.t, name, nil, sc.holder, args...)
	sc.workers, sc.all = append(sc.workers, w), append(sc.all, w)
	return w
}

// dismiss takes a worker that has ended, or will, out of those that must go
// on.
func (sc *scene) dismiss(w *worker) {
	sc.workers = slices.DeleteFunc(sc.workers, func(x *worker) bool { return x == w })
}

// works waits until a worker has made IDs since a mark and a grant was
// acknowledged.
func (sc *scene) works(t testing.TB, w *worker, m mark) {
	t.Helper()
	within(t, patience, w.name+" makes IDs", func() bool {
		if !w.alive() {
			t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
		}
		n := w.since(m)
		return n.ids > 0 && n.grants > 0
	})
}

// fenced reports whether the last thing a worker's callers got since a mark
// is an error.
func (w *worker) fenced(m mark) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.errors)
	return n > m.errors && (len(w.at) == 0 || w.errors[n-1].at > w.at[len(w.at)-1])
}

// renewed reports whether a worker was acknowledged three grants since a
// mark.
func (w *worker) renewed(m mark) bool { return w.since(m).grants >= 3 }

// programURL is the URL as the snowfence program wants it, with patience
// where the machine is busy.
func (tg *target) programURL() string {
	url := cmp.Or(tg.program, tg.url)
	params := "connect_timeout=60s"
	switch scheme, _, _ := strings.Cut(url, ":"); scheme {
	case "sqlite":
		return url
	case "etcd":
		params += "&timeout=10s"
	case "kubernetes", "dynamodb", "s3":
		params = "timeout=10s"
	}
	if strings.Contains(url, "?") {
		return url + "&" + params
	}
	return url + "?" + params
}

// fault is one way to hurt a scene.
type fault struct {
	name  string
	fits  func(*target) bool
	begin func(t testing.TB, sc *scene) (end func())
	stops bool           // the store is out of reach, so that generation must stop, at what was acknowledged
	calm  []string       // kinds of stores that have means to go on for so long, so that it may go on there
	words *regexp.Regexp // in what a user reads; nil when there is nothing to say
	holds time.Duration  // how long it lasts after it was felt by all
	long  bool           // only in the long run
}

// suffer causes a fault and ends it when the workers have felt it: they
// stopped, or renewed in spite of it.
func (sc *scene) suffer(t *testing.T, f fault) {
	before := map[*worker]mark{} // all since the start, for those that begin later
	for _, w := range sc.all {
		before[w] = w.mark()
	}
	start := time.Now()
	stops := f.stops && !slices.Contains(f.calm, sc.kind)
	end := f.begin(t, sc)
	if end == nil {
		end = func() {}
	}
	begun := map[*worker]mark{}
	for _, w := range sc.workers {
		begun[w] = w.mark()
	}
	felt := map[*worker]bool{}
	ended := false
	defer func() {
		if !ended {
			end() // so that the next fault finds the store well
		}
	}()
	stopped := 0
	within(t, patience, "the fault is felt by all", func() bool {
		stopped = 0
		for _, w := range sc.workers {
			if !w.alive() {
				t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
			}
			switch {
			case w.fenced(before[w]):
				stopped++
				felt[w] = true
			case !stops && w.renewed(begun[w]):
				felt[w] = true
			}
		}
		if stops {
			return stopped == len(sc.workers) // at one time: none has got anything in between
		}
		return len(felt) >= len(sc.workers)
	})
	if stops {
		sc.bounded(t, before)
	}
	heal := map[*worker]mark{}
	for _, w := range sc.workers {
		heal[w] = w.mark()
	}
	time.Sleep(f.holds)
	ended = true
	end()
	healing := time.Now()
	for _, w := range sc.workers {
		sc.works(t, w, heal[w])
	}
	sc.streams.replace(t)
	r := row{fault: f.name, store: sc.kind, processes: len(sc.workers), silence: sc.vacancy}
	sc.vacancy = 0
	for _, w := range sc.workers {
		r.silence = max(r.silence, w.silence(before[w]))
		if felt[w] && stopped > 0 {
			r.healed = max(r.healed, w.firstAfter(healing))
		}
		if r.said == "" && f.words != nil {
			r.said, _ = w.found(before[w], f.words)
		}
	}
	if f.words != nil && r.said == "" && (stops || !f.stops) {
		t.Errorf("no worker said %v; the last words:", f.words)
		for _, w := range sc.workers {
			w.mu.Lock()
			t.Logf("%s\n%s%s", w.name, last(w.log, 6), last(w.errors, 3))
			w.mu.Unlock()
		}
	}
	v := judged(t, sc.scheme, sc.all)
	for _, w := range sc.all {
		r.ids += int64(w.since(before[w]).ids)
	}
	r.twice = v.duplicates
	seen.add(r)
	t.Logf("%v: %d IDs, silent for %v at most, again %v after the end; %s",
		time.Since(start).Round(time.Second/10), r.ids, r.silence, r.healed, short(r.said))
}

// firstAfter returns how long after a moment the worker made an ID.
func (w *worker) firstAfter(when time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := slices.BinarySearch(w.at, when.UnixMicro())
	if i == len(w.at) {
		return 0
	}
	return time.Duration(w.at[i]-when.UnixMicro()) * time.Microsecond
}

// bounded checks the stop against the store itself, where it can be read
// past the fault: what was made lies below the end that is stored.
func (sc *scene) bounded(t *testing.T, before map[*worker]mark) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	among := snowfence.NodeRange{Until: sc.scheme.Nodes()}
	records, _, err := sc.store.List(ctx, namespace, among, 1<<20)
	if err != nil {
		return // the server itself is what was hurt; the workers' own word is checked in any case
	}
	ends := map[int64]int64{}
	for _, r := range records {
		ends[r.Node] = r.Until
	}
	for _, w := range sc.workers {
		w.mu.Lock()
		for _, id := range w.ids[before[w].ids:] {
			if p, err := sc.scheme.Decode(id); err != nil || p.Tick >= ends[p.Node] {
				t.Errorf("%s made %d (%+v, %v) at or past the end of its grant, %d", w.name, id, p, err, ends[p.Node])
				break
			}
		}
		w.mu.Unlock()
	}
}

// node returns the node a worker's last ID carries.
func (sc *scene) node(t testing.TB, w *worker) int64 {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := sc.scheme.Decode(w.ids[len(w.ids)-1])
	must(t, err)
	return p.Node
}

// finish lets the workers end by themselves and audits everything once
// more.
func (sc *scene) finish(t *testing.T) {
	for _, w := range sc.workers {
		sc.works(t, w, w.mark()) // a replica may still be on its way back
	}
	end(t, sc.workers...)
	for _, w := range sc.workers {
		if code := w.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s ended with %d: %s", w.name, code, last(w.log, 3))
		}
	}
	v := judged(t, sc.scheme, sc.all)
	sc.streams.finish(t, sc.kind)
	t.Logf("%s: %d IDs of %d processes, %d duplicates", sc.kind, v.ids, len(sc.all), v.duplicates)
}
