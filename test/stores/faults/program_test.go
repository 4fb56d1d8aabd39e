//go:build linux

package faults

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// programs are runs of "snowfence new" that stream IDs while a scene plays,
// in a namespace of their own. Their leases are as long as the program
// makes them, so that most faults are over before they are felt; who ends
// nevertheless is replaced.
type streams struct {
	scheme *snowfence.Scheme
	args   []string  // the program, and its arguments
	run    []*worker // that run
	all    []*worker // also those that ended
}

// slowLayout gives a process 8 IDs a millisecond, so that a batch of the
// program takes half a second, and the test can read along.
const slowLayout = "time=41,node=10,seq=3"

// stream starts a run of the program, or two in the long run.
func stream(t testing.TB, tg *target) *streams {
	t.Helper()
	p := &streams{scheme: fleet.Scheme(t, slowLayout), args: []string{
		snowfencePath(t), "new", "-n", "1000000000", "--namespace", "streams", "--store", tg.programURL(),
	}}
	fleet.Eventually(t, "the namespace of the streams", func() error { // a busy machine answers late
		_, err := scope.Namespaces(tg.store).Create(t.Context(), "streams", p.scheme, limited())
		return err
	})
	runs := 1
	if *long {
		runs = 2
	}
	for range runs {
		p.start(t)
	}
	return p
}

func (p *streams) start(t testing.TB) {
	w := launch(t, fmt.Sprint("program ", len(p.all)), nil, p.args[0], p.args[1:]...)
	p.run, p.all = append(p.run, w), append(p.all, w)
}

// replace starts a run for each one that has ended by itself.
func (p *streams) replace(t testing.TB) {
	for i := 0; i < len(p.run); i++ {
		if w := p.run[i]; !w.alive() {
			t.Logf("%s ended by itself: %s", w.name, last(w.log, 3))
			p.run = append(p.run[:i], p.run[i+1:]...)
			i--
			p.start(t)
		}
	}
}

// finish ends the runs and audits what all of them made. The long run first
// waits until they make IDs after all that happened.
func (p *streams) finish(t *testing.T, kind string) {
	if *long {
		p.replace(t)
		began, tried := time.Now().UnixMicro(), time.Now()
		within(t, 2*patience, "the runs of the program make IDs", func() bool {
			if time.Since(tried) > 5*time.Second { // one that is told to come later ends at once
				p.replace(t)
				tried = time.Now()
			}
			for _, w := range p.run {
				w.mu.Lock()
				n := len(w.at)
				working := n > 0 && w.at[n-1] > began
				w.mu.Unlock()
				if !working || !w.alive() {
					return false
				}
			}
			return true
		})
	}
	for _, w := range p.run {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended by itself
	}
	r := row{
		fault: "all of these together, seen by runs of the program with its usual ttl", store: kind,
		processes: len(p.all),
	}
	for _, w := range p.all {
		within(t, patience, w.name+" ends", func() bool { return !w.alive() })
		r.silence = max(r.silence, w.silence(mark{}))
		if text := last(w.log, 1); r.said == "" && strings.HasPrefix(text, "snowfence: ") && !strings.Contains(text,
			"interrupted") && !strings.Contains(text, "the layout allows") {
			r.said = strings.TrimPrefix(text, "snowfence: ")
		}
	}
	v := judged(t, p.scheme, p.all)
	r.ids, r.twice = v.ids, v.duplicates
	seen.add(r)
	t.Logf("%s: %d IDs of %d runs of the program, %d duplicates, silent for %v at most",
		kind, v.ids, len(p.all), v.duplicates, r.silence.Round(time.Millisecond))
}
