package idgen

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
	"github.com/snowfence/snowfence/statefile"
)

func stateFile(t *testing.T, path string, o *IdGeneratorOptions) *statefile.Fence {
	t.Helper()
	l, err := o.Layout()
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.File(path, s, o.node())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNextIdOverAFence(t *testing.T) {
	fresh(t)
	dir := t.TempDir()
	o := ownOptions(7)
	o.SeqBitLength = 10
	first, second := stateFile(t, filepath.Join(dir, "a"), o), stateFile(t, filepath.Join(dir, "b"), o)
	defer first.Close()
	defer second.Close()
	if err := SetFence(first, 2000); err != nil {
		t.Fatal(err)
	}
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
	if err := SetFence(first, 2000); err != nil {
		t.Fatal(err)
	}
	SetIdGenerator(ownOptions(1))
	g, err := NewOn(first, 2000)
	if err != nil {
		t.Fatalf("SetIdGenerator did not give the fence back: %v", err)
	}
	if again := g.NewLong(); again <= id {
		t.Errorf("ID %d after %d", again, id)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := SetFence(first, 2000); err != nil {
		t.Fatal(err)
	}
	if err := Close(); err != nil {
		t.Fatal(err)
	}
	if err := catch(func() { NextId() }); err == nil {
		t.Error("NextId after Close")
	}
	if g, err = NewOn(first, 2000); err != nil {
		t.Fatalf("Close did not give the fence back: %v", err)
	}
	g.Close()
}

// The worker of a fence is nobody's WorkerId in the process: both made the same IDs.
func TestWorkerOfAFenceIsNoBareWorker(t *testing.T) {
	fresh(t)
	o := ownOptions(7)
	f := stateFile(t, filepath.Join(t.TempDir(), "worker"), o)
	defer f.Close()
	g, err := NewOn(f, 2000)
	if err != nil {
		t.Fatal(err)
	}
	last := g.NewLong()
	for name, open := range map[string]func() error{
		"a generator": func() error { _, err := TryNewDefaultIdGenerator(o); return err },
		"NextId":      func() error { return TrySetIdGenerator(o) },
	} {
		if err := open(); !errors.Is(err, process.ErrOverlap) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := *o
	other.WorkerId = 8
	SetIdGenerator(&other)
	before := NextId()
	if err := TrySetIdGenerator(o); !errors.Is(err, process.ErrOverlap) {
		t.Errorf("NextId with another worker before: %v", err)
	}
	if id := NextId(); id <= before || id>>6&63 != 8 {
		t.Errorf("after the error: ID %d after %d", id, before)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if SetIdGenerator(o); NextId() <= last {
		t.Error("an ID below those of the fence")
	}
	if err := SetFence(f, 2000); !errors.Is(err, process.ErrOverlap) {
		t.Errorf("a fence of the worker of NextId: %v", err)
	}
	NextId() // it goes on
}

func TestFencesThatDoNotFitAreRefused(t *testing.T) {
	fresh(t)
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	_, errOn := NewOn(snowfence.Unguarded(s, 1), 0)
	for _, err := range []error{errOn, SetFence(snowfence.Unguarded(s, 1), 0)} {
		if err == nil || !strings.Contains(err.Error(), "IdGeneratorOptions.Layout") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := NewOn(nil, 0); err == nil {
		t.Error("nil is taken")
	}
	drift, err := snowfence.NewScheme(snowfence.MustLayout("drift"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewOn(snowfence.Unguarded(drift, 1), -1); err == nil {
		t.Error("a negative lead is taken")
	}
}
