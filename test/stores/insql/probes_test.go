package insql

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// A probe looks for one kind of mistake in a text, which was printed with
// further flags and runs in a database of its own.
type probe[B any] struct {
	name  string
	flags []string
	look  func(b B) error
}

// A mutant is a term of a text, what stands in its place, and the probe
// that has to notice it.
type mutant struct{ old, broken, probe string }

// A printer prints a text with further flags.
type printer func(t testing.TB, flags ...string) string

// An opener makes a database and runs a text there.
type opener[B any] func(t testing.TB, text string) (B, error)

// kept looks with each probe at a text that is whole.
func kept[B any](t *testing.T, probes []probe[B], text printer, open opener[B]) {
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			b, err := open(t, text(t, p.flags...))
			if err == nil {
				err = p.look(b)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// noticed breaks the terms of a text, one at a time: its probe has to
// notice each. Without -long it breaks one of so many.
func noticed[B any](
	t *testing.T, mutants []mutant, every int, probes []probe[B], text printer, open opener[B],
) {
	for i, m := range mutants {
		if !*long && i%every != 0 {
			continue
		}
		t.Run(m.old, func(t *testing.T) {
			at := slices.IndexFunc(probes, func(p probe[B]) bool { return p.name == m.probe })
			if at < 0 {
				t.Fatalf("no probe is %q", m.probe)
			}
			whole := text(t, probes[at].flags...)
			if !strings.Contains(whole, m.old) {
				t.Fatalf("the text for %q has no %s", m.probe, m.old)
			}
			b, err := open(t, strings.ReplaceAll(whole, m.old, m.broken))
			if err == nil {
				err = probes[at].look(b)
			}
			if err == nil {
				t.Errorf("%q did not notice %s", m.probe, m.broken)
			} else {
				t.Log(err)
			}
		})
	}
}

// crowd runs clients at once, and fails if they saw an ID twice.
func crowd(l *ledger, clients int, client func() error) error {
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { errs[i] = client() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return l.repeated()
}
