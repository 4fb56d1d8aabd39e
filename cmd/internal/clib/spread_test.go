package clib

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence"
)

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
