package simulate

import (
	"context"
	"flag"
	"runtime"
	"strings"
	"testing"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many seeds TestSeeds runs")
	layout = flag.String("layout", "", "layout of all its runs; empty for one that each draws")
)

// TestNothingCollides is the simulation itself. What it ran with, for docs/reliability.md, is in its log.
func TestNothingCollides(t *testing.T) {
	hours := 75.0
	if testing.Short() {
		hours = 0.4
	}
	f, bad, err := Fleets(t.Context(), 1, hours, runtime.GOMAXPROCS(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if bad != nil {
		t.Fatalf("%v\n%s", bad, strings.Join(bad.Steps, "\n"))
	}
	t.Logf("%d grants, %d renewals, %d calls, %d faults, %d IDs, %d of them where no lease can see it, in %v, seeds 1 to %d",
		f.Grants, f.Renewals, f.Calls, f.Injected(), f.IDs, f.Unseen, f.Virtual, f.Seeds)
	if !testing.Short() && (f.Grants < 200_000 || f.Injected() < 1_000_000 || f.IDs < 100_000_000) {
		t.Error("that is less than the 200,000 grants, 1,000,000 faults and 100,000,000 IDs it is to be")
	}
}

// TestSeeds stops at the first seed that collides: test/mutants runs it on broken rules.
func TestSeeds(t *testing.T) {
	for n := range max(*seeds, 1) {
		_, _, bad, err := Run(t.Context(), Plan{Seed: n + 1, Hours: stretch, layout: *layout})
		if err != nil {
			t.Fatal(err)
		}
		if bad != nil {
			t.Fatal(bad)
		}
	}
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
