package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// measured returns figures in which all that a table needs is 1, in six
// rounds.
func measured(t *testing.T, write func(*sheet)) figures {
	t.Helper()
	f := figures{}
	for range 1000 {
		_, err := tableOf(f, write)
		if err == nil {
			return f
		}
		name, ok := strings.CutSuffix(err.Error(), " was not measured")
		if !ok {
			t.Fatal(err)
		}
		f.set(name, 1)
	}
	t.Fatal("the table never has enough")
	return nil
}

func (f figures) set(name string, x float64) { f[name] = []float64{x, x, x, x, x, x} }

// Whatever is wrong with the figures is an error, and never a table with
// something missing.
func TestTablesAreWhole(t *testing.T) {
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			f := measured(t, part.write)
			for name := range f {
				less := maps.Clone(f)
				delete(less, name)
				if _, err := tableOf(less, part.write); err == nil {
					t.Errorf("a table without %s is accepted", name)
				}
			}
			f.set("more", 1)
			if _, err := tableOf(f, part.write); err == nil {
				t.Error("a figure without a row is accepted")
			}
		})
	}
}

// Each table says which targets are met.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		figures map[string]float64
		want    []string
	}{
		"Table": {
			map[string]float64{
				"id/exact/1": 1.3, "id/coarse/1": 1.65, "repeats/bwmarrin": 1,
			},
			[]string{
				"1.30 × time.Since (≤ 1.3)", "1.65 × add (≤ 1.6, **missed**)",
				"| Next, coarse time | 1.65 ±0% | 1.00 ±0% | 1.65 ×",
				"| bwmarrin/snowflake | 1.00 ±0% | 1.00 ±0% |  | yes, shown |",
			},
		},
		"Served": {
			map[string]float64{
				"single/P=64/times": 2.1, "single/P=64/snowfence/rate": 21e6, "numbers/P=16/times": 0.99,
				"http/snowfence": 0.79, "batch/resp-runs/rate": 1.5e9,
			},
			[]string{
				"| 64 | 21.0 M | 1.00 | 2.10 × [2.10, 2.10] | 1.00 × |", "0.990 × (≥ 1, **missed**)",
				"0.790 × (≥ 0.8, **missed**)", "| 1.50 G (≥ 1 G) |", "(≥ 1 G, **missed**)",
			},
		},
		"Sequences": {
			map[string]float64{
				"sequence/next-2/times": 1.4, "sequence/local-1/times": 0.25, "strict/one/times": 2.5,
				"strict/many/rate": 4200,
			},
			[]string{
				"1.00 × (≤ 1.5)", "| 1.40 × |", "0.250 × (≤ 0.5)", "2.50 × (≥ 2)",
				"4.20 k",
			},
		},
		"Layers": {
			map[string]float64{"compat/bwmarrin/times-next": 1.2},
			[]string{"1.20 × (≤ 1.15, **missed**)", "1.00 × (≤ 1.15)", "1.00 × (≤ 1.01)"},
		},
		"Languages": {
			map[string]float64{"languages/fill/times": 1.2},
			[]string{"1.00 × (≤ 0.05, **missed**)", "1.20 × (≤ 1.3)"},
		},
	} {
		for _, part := range parts {
			if part.name != name {
				continue
			}
			f := measured(t, part.write)
			for figure, x := range c.figures {
				f.set(figure, x)
			}
			got, err := tableOf(f, part.write)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the tables lack %q:\n%s", want, got)
				}
			}
		}
	}
}

func TestIdle(t *testing.T) {
	f := measured(t, idTable)
	f.set("id/since/2", 0.51)
	if !idle(f) {
		t.Error("not idle with a clock that scales")
	}
	if f.set("id/since/2", 1); idle(f) {
		t.Error("idle with a clock that does not scale")
	}
}

func TestFiguresAreNumbers(t *testing.T) {
	for text, ok := range map[string]bool{"a 1\na 2.5e3\n": true, "a x\n": false, "a\n": false} {
		path := filepath.Join(t.TempDir(), "figures")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := readFigures(path); (err == nil) != ok || ok && len(f["a"]) != 2 {
			t.Errorf("%q: %v, %v", text, f, err)
		}
	}
}
