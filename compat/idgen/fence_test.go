package idgen

import (
	"errors"
	"path/filepath"
	"strings"
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
	if err := SetFence(first, 2000); !errors.Is(err, snowfence.ErrBound) {
		t.Errorf("a fence in use: %v", err)
	}
	if again := NextId(); again <= id {
		t.Errorf("after an error: ID %d after %d", again, id)
	}
	if err := SetFence(second, 0); err != nil { // gives the first back
		t.Fatal(err)
	}
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
	if err := catch(func() { NextId() }); err == nil {
		t.Error("NextId after Close")
	}
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
		if err == nil || !strings.Contains(err.Error(), "IdGeneratorOptions.Layout") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := NewOn(nil, 0); err == nil {
		t.Error("nil is taken")
	}
	drift := must(snowfence.NewScheme(snowfence.MustLayout("drift")))
	if _, err := NewOn(snowfence.Unguarded(drift, 1), -1); err == nil {
		t.Error("a negative lead is taken")
	}
}

// noError ends the test at an error.
var noError = tests.NoError
