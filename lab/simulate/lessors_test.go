package simulate

import "testing"

// Lessors and their holders make no ID twice, in namespaces with a unit. lab/mutants runs it on
// broken rules.
func TestSublets(t *testing.T) {
	runs := max(*seeds, 60)
	if *seeds == 0 && testing.Short() {
		runs = 10
	}
	var f Figures
	for n := range runs {
		p := Plan{Seed: n + 1, Hours: stretch / 2, sublets: true, layout: *layout, Trace: *trace}
		p.hostile = n%4 == 0
		one, _, bad, err := Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if bad != nil {
			if *trace {
				for _, line := range bad.Steps {
					t.Log(line)
				}
			}
			t.Fatal(bad)
		}
		f.add(one)
	}
	t.Logf("%d grants, %d of them subleases, %d renewals, %d IDs, %d faults", f.Grants, f.Subleases, f.Renewals, f.IDs,
		f.Injected())
	if f.Subleases < 10*int64(runs) {
		t.Error("so few subleases show nothing")
	}
}
