//go:build linux

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// stepped is the snowfence program, unchanged, with a wall clock that the
// test sets while it runs: qemu runs it, and libfaketime stands between
// qemu and the system. The monotonic clock stays as it is.
type stepped struct {
	*worker
	file string // holds the offset of its clock
}

func launchStepped(t testing.TB, name string, args ...string) *stepped {
	t.Helper()
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	qemu := servers.Need(t, "qemu", "qemu-"+machine)[0]
	lib, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(lib) == 0 {
		t.Skipf("libfaketime is not installed; make test installs it")
	}
	p := &stepped{file: filepath.Join(tempDir(t), "offset")}
	p.step(t, 0)
	p.worker = launch(t, name, []string{
		"LD_PRELOAD=" + lib[0], "FAKETIME_TIMESTAMP_FILE=" + p.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1",
	}, qemu, append([]string{snowfencePath(t)}, args...)...)
	return p
}

// step sets the wall clock of the process off by d from now on.
func (p *stepped) step(t testing.TB, d time.Duration) {
	t.Helper()
	next := p.file + ".next"
	must(t, os.WriteFile(next, fmt.Appendf(nil, "%+d", int64(d.Seconds())), 0o600))
	if err := os.Rename(next, p.file); err != nil { // the process never reads half of it
		t.Fatal(err)
	}
}

// recordOf returns the record of the node that a run of the program holds.
func recordOf(ctx context.Context, t testing.TB, st store.Store, w *worker) (store.Record, bool) {
	t.Helper()
	records, err := scope.Namespaces(st).Leases(ctx, namespace)
	must(t, err)
	for _, r := range records {
		if r.Holder != "" && strings.HasSuffix(r.Label, "/"+strconv.Itoa(w.cmd.Process.Pid)) {
			return r, true
		}
	}
	return store.Record{}, false
}

// TestClockSteps steps the clocks of running programs by a second, half a
// minute and an hour, forth and back, one ahead of the true time and one
// behind it, beside a third whose clock is right. Nothing stops for it, and
// no ID is made twice.
func TestClockSteps(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	for _, kind := range []string{"SQLite", "etcd"} { // stores without a time of their own
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tg := targets[kind](t)
			s := fleet.Scheme(t, slowLayout)
			must(t, tests.ErrOf(scope.Namespaces(tg.store).Create(t.Context(), namespace, s, nil)))
			args := []string{"new", "-n", "1000000000", "--store", tg.programURL()}
			right := launch(t, "with the right clock", nil, snowfencePath(t), args...)
			ahead := launchStepped(t, "ahead", args...)
			behind := launchStepped(t, "behind", args...)
			ws := []*worker{right, ahead.worker, behind.worker}
			working(t, ws)
			for _, d := range []time.Duration{time.Second, 30 * time.Second, time.Hour} {
				for _, offset := range []time.Duration{d, 0} {
					before := map[*worker]mark{}
					for _, w := range ws {
						before[w] = w.mark()
					}
					ahead.step(t, offset)
					behind.step(t, -offset)
					feels(t, tg.store, ahead.worker, offset)
					feels(t, tg.store, behind.worker, -offset)
					v := judged(t, s, ws)
					there := d
					if offset == 0 {
						there = -d
					}
					for _, w := range []struct {
						*worker
						by time.Duration
					}{{ahead.worker, there}, {behind.worker, -there}} {
						said := ""
						if w.since(before[w.worker]).log > 0 {
							said = last(w.log, 1)
						}
						seen.add(row{
							fault: fmt.Sprintf("the clock of the running program steps by %s", signed(w.by)),
							store: kind, processes: len(ws),
							ids: int64(w.since(before[w.worker]).ids), twice: v.duplicates,
							silence: w.silence(before[w.worker]), said: strings.TrimSpace(said),
						})
						t.Logf("%s steps by %+v: %d IDs, silent for %v at most",
							w.name, w.by, w.since(before[w.worker]).ids, w.silence(before[w.worker]))
					}
				}
			}
			held, _ := recordOf(t.Context(), t, tg.store, ahead.worker)
			end(t, ws...)
			// The node that was ahead is used up for an hour. Who wants
			// just that one is told; others get another.
			told := launch(t, "wants that node",
				nil, snowfencePath(t), "new", "--store", tg.programURL(), "--node", strconv.FormatInt(held.Node, 10))
			other := launch(t, "wants any node",
				nil, snowfencePath(t), "new", "-n", "10000", "--store", tg.programURL())
			<-told.gone
			<-other.gone
			if text := last(told.log, 9); told.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text,
				"a clock was ahead") || !strings.Contains(text, "can be made in") {
				t.Errorf("node %d ended with %d: %s", held.Node, told.cmd.ProcessState.ExitCode(), text)
			}
			if len(other.ids) != 10000 {
				t.Errorf("another node: %d IDs: %s", len(other.ids), last(other.log, 5))
			}
			v := judged(t, s, append(ws, told, other))
			t.Logf("%d IDs, %d duplicates", v.ids, v.duplicates)
		})
	}
}

// signed writes a step of the clock as people do.
func signed(d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign, d = "−", -d
	}
	if d >= time.Hour {
		return fmt.Sprintf("%s%d h", sign, d/time.Hour)
	}
	return fmt.Sprintf("%s%d s", sign, d/time.Second)
}

// TestClockOff steps the clock of a running program forward by more than
// the skew that its store allows; that store has a clock of its own. The
// program stops, and says why. Another one with a right clock goes on.
func TestClockOff(t *testing.T) {
	t.Parallel()
	kinds := []string{"Redis"}
	if *long {
		kinds = []string{"PostgreSQL", "MariaDB", "Redis", "Kubernetes", "DynamoDB", "S3"}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tg := targets[kind](t)
			s := fleet.Scheme(t, slowLayout)
			must(t, tests.ErrOf(scope.Namespaces(tg.store).Create(t.Context(), namespace, s, nil)))
			args := []string{"new", "-n", "1000000000", "--store", tg.programURL()}
			right := launch(t, "with the right clock", nil, snowfencePath(t), args...)
			ws := []*worker{right}
			steps := map[*stepped]time.Duration{}
			for _, d := range []time.Duration{30 * time.Second, time.Hour} {
				p := launchStepped(t, "ahead by "+d.String(), args...)
				steps[p] = d
				ws = append(ws, p.worker)
			}
			working(t, ws)
			before := map[*worker]mark{}
			for p, d := range steps {
				before[p.worker] = p.mark()
				p.step(t, d)
			}
			for p, d := range steps {
				within(t, 2*patience, p.name+" gives up", func() bool { return !p.alive() })
				if text := last(p.log, 3); !strings.Contains(text, "clock") {
					t.Errorf("%s does not say why it ended: %s", p.name, text)
				}
				seen.add(row{
					fault: fmt.Sprintf("the clock of the running program steps by %s, the store has one", signed(d)),
					store: kind, processes: len(ws),
					ids: int64(p.since(before[p.worker]).ids), said: strings.TrimPrefix(last(p.log, 1), "snowfence: "),
				})
			}
			m := right.mark()
			within(t, patience, "the other one makes IDs", func() bool {
				return right.alive() && right.since(m).ids > 0
			})
			end(t, right)
			v := judged(t, s, ws)
			t.Logf("%d IDs, %d duplicates", v.ids, v.duplicates)
		})
	}
}

// feels waits until a process has renewed its lease twice with a wall clock
// that is off by offset: its record says so. It must not end.
func feels(t testing.TB, st store.Store, w *worker, offset time.Duration) {
	t.Helper()
	first := int64(-1)
	within(t, patience, fmt.Sprintf("%s renews twice with a clock off by %v", w.name, offset), func() bool {
		if !w.alive() {
			t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
		}
		r, ok := recordOf(t.Context(), t, st, w)
		off := time.Until(time.UnixMilli(r.At)) - offset
		if !ok || off < -10*time.Second || off > 10*time.Second {
			return false
		}
		if first < 0 {
			first = r.Revision
		}
		return r.Revision >= first+2
	})
}
