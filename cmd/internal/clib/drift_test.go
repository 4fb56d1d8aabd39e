package clib

import (
	"testing"

	"github.com/snowfence/snowfence/compat/idgen"
)

// newDrift returns the calls of snow-drift without a generator, which is
// one for the process.
func newDrift(t *testing.T) *Drift {
	t.Cleanup(func() {
		noError(t, idgen.Close())
	})
	return &Drift{}
}

func TestDriftOptions(t *testing.T) {
	d := newDrift(t)
	_, err := d.NextID()
	wantStatus(t, err, Invalid)
	wantStatus(t, d.SetOptions(5, 0, 0), OK)
	last, err := d.NextID()
	if err != nil || last>>6&63 != 5 {
		t.Errorf("%d, %v", last, err)
	}
	for _, bad := range []settings{{64, 0, 0}, {64, 6, 0}, {1, 20, 3}, {1, 6, 2}, {70000, 19, 3}, {1 << 31, 0, 0}} {
		wantStatus(t, d.SetOptions(bad.worker, bad.workerBits, bad.seqLen), Invalid)
		_, err := d.NextID() // and not one of the options before
		wantStatus(t, err, Invalid)
	}
	wantStatus(t, d.SetOptions(5, 0, 0), OK)
	if id, err := d.NextID(); err != nil || id <= last {
		t.Errorf("%d after %d, %v", id, last, err)
	}
}

// A process that asked Redis for a number makes IDs with what it got, or
// none: also when it got nothing, and when it had a bare number before.
func TestDriftBareNumbersEndAtRegistration(t *testing.T) {
	for name, ask := range map[string]func(d *Drift){
		"unusable":    func(d *Drift) { _, _ = d.Register(Registration{Count: 1, Max: 63, Life: 1}) },
		"unreachable": func(d *Drift) { _, _ = d.Register(Registration{Address: "127.0.0.1:1", Count: 1, Max: 63, Life: 9}) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrift(t)
			wantStatus(t, d.SetOptions(5, 0, 0), OK)
			_, err := d.NextID()
			wantStatus(t, err, OK)
			ask(d)
			_, err = d.NextID()
			wantStatus(t, err, Invalid)
			err = d.SetOptions(5, 0, 0)
			wantStatus(t, err, Invalid)
			says(t, err, "takes its numbers from Redis", "")
			_, err = d.NextID()
			wantStatus(t, err, Invalid)
		})
	}
}

func TestDriftRegister(t *testing.T) {
	d := newDrift(t)
	for want, r := range map[int32]Registration{
		-2: {Address: "127.0.0.1:1", Count: 1, Max: 63, Life: 2},
		-1: {Address: "127.0.0.1:1", Count: 1, Max: 63, Life: 15},
	} {
		if got, err := d.Register(r); len(got) != 1 || got[0] != want || err == nil {
			t.Errorf("%v, %v; want %d", got, err, want)
		}
	}
	if d.Validate(0) || d.Validate(-1) {
		t.Error("a number is held")
	}
	wantStatus(t, d.UnRegister(), OK)
	_, err := d.NextID()
	wantStatus(t, err, Invalid)
}
