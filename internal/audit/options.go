package audit

import (
	"fmt"
	"os"

	"github.com/snowfence/snowfence"
)

// Options say what is known of the IDs and what an audit may use. The zero
// value is ready.
type Options struct {
	// Scheme takes IDs apart. Nil means that nothing is known of their bits.
	Scheme *snowfence.Scheme

	// Counts, if it is not 0, says that IDs are numbers that count up from 0 in
	// their lowest so many bits, and anew for each value of the bits above:
	// then a number that is missing at the start is missing too. No ID is
	// negative then, or has all of the lowest bits set.
	Counts int

	// Memory bounds the bytes of IDs in memory, from 16 MiB up; zero means 2
	// GiB. Tables and buffers of some 10 MiB are extra.
	Memory int64

	// TempDir takes IDs beyond Memory: 8 bytes each, and as much again while
	// sorting. Empty means os.TempDir.
	TempDir string

	// Limit bounds the listed duplicates, steps back and gaps; all are counted.
	// Zero means 20, negative none.
	Limit int

	// Progress, if not nil, gets the share that is done now and then.
	Progress func(done, total int64)
}

const (
	defaultMemory = 2 << 30
	minMemory     = 16 << 20
	defaultLimit  = 20
)

// norm returns o with its defaults filled in.
func (o Options) norm() (Options, error) {
	switch {
	case o.Memory == 0:
		o.Memory = defaultMemory
	case o.Memory < minMemory:
		return o, fmt.Errorf("audit: %d bytes of memory; the least is %d (16 MiB)", o.Memory, minMemory)
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	switch {
	case o.Limit == 0:
		o.Limit = defaultLimit
	case o.Limit < 0:
		o.Limit = 0
	}
	return o, nil
}
