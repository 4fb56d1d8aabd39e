package idgen

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/statefile"
)

func stateFile(path string, o *IdGeneratorOptions) *statefile.Fence {
	l := must(o.Layout())
	s := must(snowfence.NewScheme(l))
	return must(statefile.File(path, s, o.node()))
}

func TestNextIdOverAFence(t *testing.T) {
	fresh(t)
	dir := t.TempDir()
	o := ownOptions(7)
	o.SeqBitLength = 10
	first, second := stateFile(filepath.Join(dir, "a"), o), stateFile(filepath.Join(dir, "b"), o)
	defer first.Close()
	defer second.Close()
	noError(t, SetFence(first, 2000))
	id := NextId()
	if id>>10&63 != 7 || id&1023 < 5 {
		t.Errorf("ID %d", id)
	}
	if at := ExtractTime(id); time.Since(at).Abs() > time.Hour {
		t.Errorf("time %v", at)
	}
	wantErr(t, SetFence(first, 2000), snowfence.ErrBound, "a fence in use")
	if again := NextId(); again <= id {
		t.Errorf("after an error: ID %d after %d", again, id)
	}
	noError(t, SetFence(second, 0)) // gives the first back
	NextId()
	noError(t, SetFence(first, 2000))
	SetIdGenerator(ownOptions(1))
	g, err := NewOn(first, 2000)
	if err != nil {
		t.Fatalf("SetIdGenerator did not give the fence back: %v", err)
	}
	if again := g.NewLong(); again <= id {
		t.Errorf("ID %d after %d", again, id)
	}
	noError(t, g.Close())
	noError(t, SetFence(first, 2000))
	noError(t, Close())
	tests.Fails(t, catch(func() { NextId() }), "NextId after Close")
	if g, err = NewOn(first, 2000); err != nil {
		t.Fatalf("Close did not give the fence back: %v", err)
	}
	g.Close()
}

func TestFencesThatDoNotFitAreRefused(t *testing.T) {
	fresh(t)
	s := must(snowfence.NewScheme(snowfence.Default()))
	_, errOn := NewOn(snowfence.Unguarded(s, 1), 0)
	for _, err := range []error{errOn, SetFence(snowfence.Unguarded(s, 1), 0)} {
		says(t, err, "IdGeneratorOptions.Layout", "")
	}
	tests.Fails(t, errOf(NewOn(nil, 0)), "nil is taken")
	drift := must(snowfence.NewScheme(snowfence.MustLayout("drift")))
	tests.Fails(t, errOf(NewOn(snowfence.Unguarded(drift, 1), -1)), "a negative lead is taken")
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// says reports an error without a text, and a call without an error.
var says = tests.Says
