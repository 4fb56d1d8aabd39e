package simulate

import (
	"context"
	"testing"
)

// run simulates seeds until one collides.
func runSeeds(t *testing.T, first, n uint64, hours float64) *Figures {
	t.Helper()
	total := &Figures{}
	for seed := first; seed < first+n; seed++ {
		f, _, bad, err := Run(context.Background(), Plan{Seed: seed, Hours: hours})
		if err != nil {
			t.Fatal(err)
		}
		if bad != nil {
			t.Error(bad)
		}
		total.add(f)
	}
	return total
}

func TestNothingCollides(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 6
	}
	f := runSeeds(t, 1, n, 0.2)
	t.Logf("%d grants, %d renewals, %d calls, %d faults, %d IDs in %v", f.Grants, f.Renewals, f.Calls, f.Injected(), f.IDs, f.Virtual)
}

func TestOneSeedIsOneRun(t *testing.T) {
	plan := Plan{Seed: 7, Hours: 0.1}
	one, hash, _, err := Run(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	two, again, _, err := Run(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if *one != *two || hash != again {
		t.Errorf("the same seed gave %x with %+v, and then %x with %+v", hash, one, again, two)
	}
	plan.Seed++
	if _, other, _, _ := Run(context.Background(), plan); other == hash {
		t.Error("another seed gave the same run")
	}
}
