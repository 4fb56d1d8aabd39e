package compat

import (
	"testing"

	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowfence/snowfence/compat/idgen"
)

// driftAPI is what the programs below use, of the original or of the layer.
type driftAPI struct {
	o    idgen.IdGeneratorOptions
	set  func(o idgen.IdGeneratorOptions)
	next func() int64
	make func(o idgen.IdGeneratorOptions) (next func() int64)
}

var (
	driftLayer = driftAPI{
		set: func(o idgen.IdGeneratorOptions) { idgen.SetIdGenerator(&o) }, next: idgen.NextId,
		make: func(o idgen.IdGeneratorOptions) func() int64 { return idgen.NewDefaultIdGenerator(&o).NewLong },
	}
	driftTheirs = driftAPI{
		set: func(o idgen.IdGeneratorOptions) { yitter.SetIdGenerator(driftOriginal(o)) }, next: yitter.NextId,
		make: func(o idgen.IdGeneratorOptions) func() int64 {
			return yitter.NewDefaultIdGenerator(driftOriginal(o)).NewLong
		},
	}
)

// driftIssues have the numbers of issues of yitter/IdGenerator. What the Go
// original does not repeat was of other ports, or a mistake of the report.
// Programs of several processes, of restarts and of clocks that
// step back are in the tests of the package itself, because they need a
// state file or a clock that a test moves.
var driftIssues = []program[driftAPI]{
	{"SetIdGenerator for each request (6, 68)", true, func(api driftAPI, add func(...int64)) {
		for range 20 {
			api.set(api.o)
			take(3000, api.next, add)
		}
	}},
	{"the first calls from many threads (29)", false, func(api driftAPI, add func(...int64)) {
		api.set(api.o)
		threads(10, func(int) { add(api.next()) })
	}},
	{"10 threads with the defaults (52, 68)", false, func(api driftAPI, add func(...int64)) {
		api.set(api.o)
		threads(10, func(int) { take(5000, api.next, add) })
	}},
	{"two workers in one process (57, 111)", false, func(api driftAPI, add func(...int64)) {
		threads(2, func(i int) {
			o := api.o
			o.WorkerId = uint16(15 + 36*i)
			take(1000, api.make(o), add)
		})
	}},
	{"50,000 with the defaults (90)", false, func(api driftAPI, add func(...int64)) {
		api.set(api.o)
		take(50_000, api.next, add)
	}},
	{"200 threads (119)", false, func(api driftAPI, add func(...int64)) {
		api.set(api.o)
		threads(200, func(int) { take(10, api.next, add) })
	}},
	{"a generator for each request", true, func(api driftAPI, add func(...int64)) {
		for range 20 {
			take(3000, api.make(api.o), add)
		}
	}},
	{"other numbers for the same worker", true, func(api driftAPI, add func(...int64)) {
		for i := range 20 {
			api.o.MinSeqNumber = 5 + uint32(i%2)*5
			api.set(api.o)
			take(3000, api.next, add)
		}
	}},
	{"a worker that the Go original cuts", true, func(api driftAPI, add func(...int64)) {
		api.o.SeqBitLength = 12
		var next [4]func() int64
		for i := range next {
			api.o.WorkerId = uint16(16 * i) // it keeps 4 bits of them
			next[i] = api.make(api.o)
		}
		for range 20_000 {
			add(next[0](), next[1](), next[2](), next[3]())
		}
	}},
}

func TestDriftIssues(t *testing.T) {
	of := func(api driftAPI) func(*testing.T, int) driftAPI {
		return func(_ *testing.T, i int) driftAPI {
			api.o = *idgen.NewIdGeneratorOptions(1)
			api.o.BaseTime = driftBase(200 + i)
			return api
		}
	}
	compare(t, driftIssues, of(driftTheirs), of(driftLayer))
}
