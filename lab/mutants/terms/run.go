package terms

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is a test that can be run alone: a function, or a subtest of a long
// one.
type Unit struct {
	Pkg  string
	Name string
	Took time.Duration
	args []string
	seen []byte // the terms that it reaches
}

// memory is the limit of a test, in kB: a mutant can fill the machine.
const memory = 6_000_000

// timedOut is the text of a test binary when its time is up.
const timedOut = "panic: test timed out"

var passed = regexp.MustCompile(`(?m)^( *)--- (PASS|SKIP): (\S+) \(([0-9.]+)s\)$`)

// Units runs all tests without a mutant and returns them, the quickest
// first. They have to pass.
func (b *Built) Units(unfit map[string]string) ([]*Unit, error) {
	var units []*Unit
	for _, pkg := range b.packages {
		args := []string{"-test.v", "-test.skip=" + alternatives(unfit)}
		if pkg == simulation {
			args = simulated
		} else if about[pkg] != "" {
			args = append(args, "-test.run="+about[pkg])
		}
		began := time.Now()
		out, err := b.runTests(pkg, 5*time.Minute, 0, "", args...)
		if err != nil {
			end := out[max(0, len(out)-3000):]
			return nil, fmt.Errorf("terms: without a mutant the tests of ./%s fail: %w\n%s", pkg, err, end)
		}
		if pkg == simulation {
			units = append(units, &Unit{Pkg: pkg, Name: "TestSeeds", Took: time.Since(began), args: simulated})
			continue
		}
		units = append(units, split(pkg, out)...)
	}
	slices.SortStableFunc(units, func(a, b *Unit) int { return int(a.Took - b.Took) })
	return units, nil
}

// runTests runs tests of one package and returns their output. The error
// says that they failed.
func (b *Built) runTests(pkg string, limit time.Duration, chosen int, seen string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+30*time.Second)
	defer cancel()
	args = append([]string{
		"-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, memory), "sh", b.binaryOf(pkg),
		"-test.short", "-test.failfast", "-test.timeout=" + limit.String(),
	}, args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.workFolder(pkg)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "SNOWFENCE_MUTANT="+strconv.Itoa(chosen), "SNOWFENCE_MUTANTS_SEEN="+seen)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		out = append(out, "\n"+timedOut...)
	}
	return string(out), err
}

// about names the tests to run in packages that also have slow or unrelated
// tests.
var about = map[string]string{
	stalled:    "^TestStalled", // the others play all schedules
	forwarding: "^(TestRenewalsArePassedOn|TestAnswersOfAnotherServer|TestAPeerHasItsKey|TestCallersMakeNoServerAway)$",
}

// simulated are the seeds for each mutant that no test notices.
var simulated = []string{"-test.run=^TestSeeds$", "-seeds=3"}

// split returns the units in the output of a package's tests. Tests that
// take long are divided where they have parts.
func split(pkg, out string) (units []*Unit) {
	parts := map[string][]*Unit{}
	for _, m := range passed.FindAllStringSubmatch(out, -1) {
		took, _ := time.ParseDuration(m[4] + "s")
		u := &Unit{Pkg: pkg, Name: m[3], Took: took}
		parent, _, sub := strings.Cut(m[3], "/")
		switch {
		case m[2] == "SKIP":
		case !sub:
			units = append(units, u)
		case len(m[1]) == 4:
			parts[parent] = append(parts[parent], u)
		}
	}
	for i, u := range units {
		if ps := parts[u.Name]; u.Took > time.Second && len(ps) > 5 {
			units[i] = nil
			units = append(units, ps...)
		}
	}
	return slices.DeleteFunc(units, func(u *Unit) bool { return u == nil })
}

func alternatives(names map[string]string) string {
	var out []string
	for n := range names {
		out = append(out, "^"+regexp.QuoteMeta(n)+"$")
	}
	slices.Sort(out)
	if len(out) == 0 {
		return "^$"
	}
	return strings.Join(out, "|")
}

// pattern returns what -test.run needs for exactly these tests.
func pattern(units []*Unit) string {
	var out []string
	for _, u := range units {
		var parts []string
		for p := range strings.SplitSeq(u.Name, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
		}
		out = append(out, strings.Join(parts, "/"))
	}
	return "-test.run=" + strings.Join(out, "|")
}

func (u *Unit) arguments() []string {
	if u.args != nil {
		return u.args
	}
	return []string{pattern([]*Unit{u})}
}

// Record runs a unit alone, without a mutant, and notes which terms it
// reaches.
func (b *Built) Record(u *Unit) error {
	file, err := os.CreateTemp(b.dir, "seen")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(file.Truncate(int64(b.size)), file.Close()); err != nil {
		return err
	}
	if out, err := b.runTests(u.Pkg, 5*time.Minute, 0, file.Name(), u.arguments()...); err != nil {
		return fmt.Errorf("terms: without a mutant %s fails: %w\n%s", u.Name, err, out)
	}
	u.seen, err = os.ReadFile(file.Name())
	return err
}

// Verdict is what became of a mutant.
type Verdict struct {
	Killed bool
	By     string // the test that failed
	Unit   *Unit  // that it is a part of; nil if that is not known
}

// Endless stands for the test if none came to an end.
const Endless = "time"

var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// TryOne runs one test with a mutant.
func (b *Built) TryOne(m Mutant, u *Unit) (Verdict, error) {
	return b.tryMutant(m, []*Unit{u}, time.Minute, false)
}

// Passes runs tests without a mutant.
func (b *Built) Passes(units []*Unit) error {
	for _, pkg := range b.packages {
		own := slices.DeleteFunc(slices.Clone(units), func(u *Unit) bool { return u.Pkg != pkg })
		if len(own) == 0 {
			continue
		}
		if out, err := b.runTests(pkg, 5*time.Minute, 0, "", pattern(own)); err != nil {
			return fmt.Errorf("terms: without a mutant tests of ./%s fail: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// Try runs the tests that reach a mutant until one fails: first the one
// that noticed the last mutant of the function, if there is one, and then
// the quickest ones first. Tests of a group over a store in memory repeat
// the store's, so they are for terms of groups only. endless says that a
// test that does not end is expected.
func (b *Built) Try(m Mutant, first *Unit, units []*Unit, endless bool) (Verdict, error) {
	if first != nil && first.seen[m.id] != 0 {
		v, err := b.tryMutant(m, []*Unit{first}, first.Took, true)
		if v.Killed && v.By != Endless || err != nil {
			return v, err
		}
	}
	var batch []*Unit
	var sum time.Duration
	reached := false
	for i, u := range units {
		repeats := strings.HasPrefix(u.Name, "TestGroup/") && !strings.Contains(m.Line, "group")
		if u.seen[m.id] != 0 && !repeats {
			batch, sum, reached = append(batch, u), sum+u.Took, true
		}
		last := i == len(units)-1
		if len(batch) == 0 || !last && sum < 300*time.Millisecond && len(batch) < 40 {
			continue
		}
		v, err := b.tryMutant(m, batch, sum, endless)
		if v.Killed || err != nil {
			return v, err
		}
		batch, sum = nil, 0
	}
	if !reached {
		return Verdict{By: "nothing: no test reaches it"}, nil
	}
	return Verdict{}, nil
}

// tryMutant runs some tests with a mutant, those of a package together.
func (b *Built) tryMutant(m Mutant, batch []*Unit, sum time.Duration, endless bool) (Verdict, error) {
	for _, pkg := range b.packages {
		var own []*Unit
		for _, u := range batch {
			if u.Pkg == pkg {
				own = append(own, u)
			}
		}
		if len(own) == 0 {
			continue
		}
		args := own[0].args
		if args == nil {
			args = []string{pattern(own)}
		}
		limit := 15*time.Second + 20*sum
		out, err := b.runTests(pkg, limit, m.id, "", args...)
		v := judge(out, err)
		if v.By == Endless && !endless { // a slow machine, perhaps
			out, err = b.runTests(pkg, 8*limit, m.id, "", args...)
			v = judge(out, err)
		}
		if v.Killed {
			for _, u := range own {
				if strings.HasPrefix(v.By+"/", u.Name+"/") {
					v.Unit = u
				}
			}
			return v, nil
		}
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			return Verdict{}, err
		}
	}
	return Verdict{}, nil
}

// judge returns the meaning of a test binary's end.
func judge(out string, err error) Verdict {
	switch {
	case err == nil:
		return Verdict{}
	case strings.Contains(out, timedOut), errors.Is(err, exec.ErrWaitDelay):
		return Verdict{Killed: true, By: Endless}
	}
	if m := failed.FindAllStringSubmatch(out, -1); m != nil {
		return Verdict{Killed: true, By: m[len(m)-1][1]}
	}
	first, _, _ := strings.Cut(out, "\n")
	return Verdict{Killed: true, By: "its end: " + string(bytes.TrimSpace([]byte(first)))}
}
