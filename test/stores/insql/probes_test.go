package insql

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A probe looks for one kind of mistake in a text, which was printed with
// further flags and runs in a database of its own.
type probe struct {
	name  string
	flags []string
	look  func(b base)
}

// A mutant is a term of a text, what stands in its place, and the probe
// that has to notice it.
type mutant struct{ old, broken, probe string }

// kept looks with each probe at a text that is whole.
func kept(t *testing.T, probes []probe, text printer, open opener) {
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) { p.look(open(t, text(t, p.flags...))) })
	}
}

// noticed breaks the terms of a text, one at a time: its probe has to
// notice each. Without -long it breaks one of so many.
func noticed(t *testing.T, mutants []mutant, every int, probes []probe, text printer, open opener) {
	for i, m := range mutants {
		if !*long && i%every != 0 {
			continue
		}
		t.Run(m.old, func(t *testing.T) {
			at := slices.IndexFunc(probes, func(p probe) bool { return p.name == m.probe })
			if at < 0 {
				t.Fatalf("no probe is %q", m.probe)
			}
			whole := text(t, probes[at].flags...)
			if !strings.Contains(whole, m.old) {
				t.Fatalf("the text for %q has no %s", m.probe, m.old)
			}
			j := &judge{TB: t}
			j.play(func() { probes[at].look(open(j, strings.ReplaceAll(whole, m.old, m.broken))) })
			if !j.Failed() {
				t.Errorf("%q did not notice %s", m.probe, m.broken)
			}
			t.Log(j.said)
		})
	}
}

// A judge is a test that may fail. It keeps what it was told.
type judge struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

// play runs a probe until it fails, or to its end.
func (j *judge) play(probe func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		probe()
	}()
	<-done
}

func (j *judge) Errorf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.said = append(j.said, fmt.Sprintf(format, args...))
}

func (j *judge) Failed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.said) > 0
}

func (j *judge) Error(args ...any) { j.Errorf("%s", fmt.Sprint(args...)) }

func (j *judge) Fatal(args ...any) {
	j.Error(args...)
	runtime.Goexit()
}

func (j *judge) Fatalf(format string, args ...any) {
	j.Errorf(format, args...)
	runtime.Goexit()
}

func (*judge) Helper() {}
