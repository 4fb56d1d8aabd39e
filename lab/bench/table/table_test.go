package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// measured returns figures in which all that the page needs is 1, in six
// rounds.
func measured(t *testing.T) figures {
	t.Helper()
	f := figures{}
	for range 1000 {
		_, err := page(f, machine{})
		var name missing
		if !errors.As(err, &name) {
			tests.NoError(t, err)
			return f
		}
		f.set(string(name), 1)
	}
	t.Fatal("the page never has enough")
	return nil
}

func (f figures) set(name string, x float64) { f[name] = []float64{x, x, x, x, x, x} }

// Whatever is wrong with the figures is an error, and never a table with
// something missing.
func TestTablesAreWhole(t *testing.T) {
	f := measured(t)
	for name := range f {
		less := maps.Clone(f)
		delete(less, name)
		tests.Fails(t, tests.ErrOf(page(less, machine{})), "a page without %s is accepted", name)
	}
	f.set("more", 1)
	tests.Fails(t, tests.ErrOf(page(f, machine{})), "a figure without a row is accepted")
}

// Each table says which targets are met.
func TestTables(t *testing.T) {
	f := measured(t)
	for name, x := range map[string]float64{
		"id/exact/1": 1.3, "id/coarse/1": 1.65, "repeats/bwmarrin": 1, "single/P=64/times": 2.1,
		"single/P=64/snowfence/rate": 21e6, "numbers/P=16/times": 0.99, "http/snowfence": 0.79,
		"batch/resp-runs/rate": 1.5e9, "holders/SQLite/server-cpu": 0.89, "sequence/next-2/times": 1.4,
		"strict/many/rate": 4200, "compat/bwmarrin/times-next": 1.2, "languages/fill/times": 1.2,
	} {
		f.set(name, x)
	}
	got := tests.Must(page(f, machine{}))
	for _, want := range []string{
		"\n| Next, exact time | 1.30 ±0% | 1.00 ±0% | 1.30 × time.Since (≤ 1.3) |  |\n",
		"| 1.65 × add (≤ 1.6, **missed**) |",
		"\n| bwmarrin/snowflake | 1.00 ±0% | 1.00 ±0% |  | yes, shown |\n",
		"\n| 64 | 21.0 M | 1.00 | 2.10 × [2.10, 2.10] | 1.00 × |\n",
		"| 0.990 × (≥ 1, **missed**) [0.990, 0.990] |",
		"| 0.790 | 1.00 | 0.790 × (≥ 0.8, **missed**) |",
		"| 1.50 G (≥ 1) |",
		"\n| SQLite | 1 | 1000 ms | 0.001 kB | 89 % | 1.00 s | 1 | 1 |\n",
		"\n| Next | 1.00 | 1.00 | 1.00 × (≤ 1.5) | 1.00 | 1.00 | 1.40 × |\n",
		"| 4.20 k | 1.00 | 1.00 × [1.00, 1.00] |",
		"| 1.00 | 1.20 × (≤ 1.15, **missed**) | 1.00 × (≤ 1.01) |",
		"| 1.20 × (≤ 1.3) [1.20, 1.20] |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}

func TestBusyMachine(t *testing.T) {
	f := measured(t)
	for two, busy := range map[float64]bool{0.51: false, 1: true} {
		f.set("id/since/2", two)
		text, err := page(f, machine{})
		if err != nil || strings.Contains(text, "**The machine was busy") != busy {
			t.Errorf("two goroutines read the clock in %g of the time: %v\n%s", two, err, text)
		}
	}
}

func TestFiguresAreNumbers(t *testing.T) {
	for text, ok := range map[string]bool{"a 1\na 2.5e3\n": true, "a x\n": false, "a\n": false} {
		path := filepath.Join(t.TempDir(), "figures")
		tests.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		f := figures{}
		if err := f.read(path); (err == nil) != ok || ok && len(f["a"]) != 2 {
			t.Errorf("%q: %v, %v", text, f, err)
		}
	}
}
