package audit

import (
	"fmt"
	"os"
	"runtime"

	"github.com/snowfence/snowfence"
)

// Options say what is known about the IDs and what an audit may use. The zero value is ready.
type Options struct {
	// Scheme takes IDs apart into time, node and sequence number. Nil means that nothing
	// is known of their bits.
	Scheme *snowfence.Scheme

	// Memory bounds the bytes that IDs take in memory; zero means 2 GiB, and the least is
	// 16 MiB. Tables and buffers of some 10 MiB come on top.
	Memory int64

	// TempDir is where IDs go that do not fit into Memory: 8 bytes each, and as much
	// again while they are sorted. Empty means os.TempDir.
	TempDir string

	// Limit bounds how many duplicates, steps back and nodes are listed; they are counted
	// in any case. Zero means 20, and a negative number none.
	Limit int

	// Progress, if not nil, is called now and then while Result works, from several
	// goroutines, with the share that is done.
	Progress func(done, total int64)
}

const (
	defaultMemory = 2 << 30
	minMemory     = 16 << 20
	defaultLimit  = 20

	// maxWorkers bounds the goroutines of an audit, each of which has tables of its own.
	maxWorkers = 8
)

// sizes are the granularities of an audit, in IDs. Tests make them small, so that few IDs
// take every path.
type sizes struct {
	chunk   int // stored at once
	piece   int // handed to one worker at once; a chunk is whole pieces
	memory  int // IDs that fit into memory
	scratch int // a worker's room for sorting
	heavy   int // a bucket with fewer is not worth another look to divide it
}

func (o Options) sizes() sizes {
	return sizes{chunk: 1 << 20, piece: 1 << 16, memory: int(o.Memory / 8), scratch: 1 << 18, heavy: 1 << 21}
}

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

func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }
