package clib

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/compat/idgen"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
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

// C programs had no spread, so that id % 16 of a quiet one was always 0.
func TestSpreadOption(t *testing.T) {
	l := newLibrary()
	doors := map[string]func(layout, options string) (Handle, error){
		"store": func(layout, options string) (Handle, error) {
			return l.Open("mem:", "", options+",layout="+layout)
		},
		"state file": func(layout, options string) (Handle, error) {
			return l.OpenStateFile(filepath.Join(t.TempDir(), "node"), layout, 1, options)
		},
		"static": func(layout, options string) (Handle, error) { return l.OpenStatic(layout, 1, options) },
	}
	for name, open := range doors {
		h, err := open("snowfence", "max-wait=60s,spread=4096")
		wantStatus(t, err, OK)
		even := false
		for range 50 { // each draw below 2 has a chance of 1 in 2,048
			var ids [4096]snowfence.ID // more than a tick has left
			n, err := l.Fill(h, ids[:])
			wantStatus(t, err, OK)
			p, err := l.Decode(h, ids[0])
			wantStatus(t, err, OK)
			even = even || n > 0 && p.Sequence > 1
		}
		if !even {
			t.Errorf("%s: each tick begins at its first number", name)
		}
		wantStatus(t, l.Close(h), OK)
		for options, why := range map[string]string{
			"spread=-1": "0 or more", "spread=x": "a number of sequence numbers", "spread=4097": "has 4096",
		} {
			_, err = open("snowfence", options)
			wantStatus(t, err, Invalid)
			says(t, err, why, "%s, %s", name, options)
		}
		_, err = open("sonyflake", "spread=16")
		wantStatus(t, err, Invalid)
	}
	_, err := l.OpenStateFile(filepath.Join(t.TempDir(), "node"), "", 1, "slice=0-7,spread=16")
	wantStatus(t, err, Invalid)
}

// Texts name options of C in place of options of Go.
func TestTextsNameOptionsOfC(t *testing.T) {
	for text, want := range map[string]string{
		"set Options.Wait":      "set option wait=30s",
		"Options.Within is 3":   "option within is 3",
		"Config.Lead is -1":     "option lead is -1",
		"Options.Nodes is 3":    "option block is 3",
		"Options.Node is 3":     "option node is 3",
		"Options.TTL is 1":      "option ttl is 1",
		"Options.Label is long": "option label is long",
		"Options.TokenFile: no": "SNOWFENCE_TOKEN_FILE: no",
	} {
		if got := TextOf(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A namespace of a store of many machines is made by hand, as the error
// says.
func TestNamespaceThatDoesNotExist(t *testing.T) {
	st := &open.Store{Leases: store.NewMemory(), Name: "postgres://db"}
	o := &options{}
	_, err := useNamespace(t.Context(), st, "shop", o)
	wantStatus(t, err, Invalid)
	if err == nil || !strings.Contains(err.Error(), "snowfence namespace create shop") {
		t.Fatalf("%v", err)
	}
	s := must(snowfence.NewScheme(snowfence.Default()))
	must(scope.Namespaces(st.Leases).Create(t.Context(), "shop", s, nil))
	_, err = useNamespace(t.Context(), st, "shop", o)
	wantStatus(t, err, OK)
}
