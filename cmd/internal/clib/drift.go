package clib

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
)

// Drift is what snow-drift's C calls do: one generator for the process, and
// worker numbers from Redis. It is safe for concurrent use.
//
// Invariant: from the first registration on, the process makes no ID with a
// number that it does not hold.
type Drift struct {
	mu         sync.Mutex
	registered bool     // RegisterOne or RegisterMany was called
	now        settings // of the generator over a number from Redis; zero when there is none

	ready   atomic.Bool           // the last SetOptions succeeded
	trouble atomic.Pointer[error] // or else why not; nil before the first one
}

var errNoOptions = InvalidError("no worker number is set: call SetWorkerId or SetOptions first")

// settings are the options of SetOptions.
type settings struct {
	worker             uint32
	workerBits, seqLen uint8
}

// Registration names the source of worker numbers, as snow-drift's
// RegisterOne does.
type Registration struct {
	Address, Password, MasterName string
	DB, Min, Max, Count, Life     int32
}

// Register gives back the process's worker numbers, and takes others. Its
// results are as in the original: -2 alone for a configuration that cannot
// be used, -1 for a number that is missing.
func (d *Drift) Register(r Registration) ([]int32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.registered = true
	if err := d.endGenerator(); err != nil {
		return []int32{-1}, err
	}
	numbers, err := register(r)
	if err != nil && numbers[0] == -2 {
		err = coded{Invalid, err}
	}
	return numbers, err
}

// UnRegister ends the generator, and gives all numbers back.
func (d *Drift) UnRegister() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.endGenerator()
	unRegister()
	return err
}

// endGenerator ends the generator. mu is held.
func (d *Drift) endGenerator() error {
	d.ready.Store(false)
	d.trouble.Store(nil)
	d.now = settings{}
	return idgen.Close()
}

// Validate reports whether the process holds a number.
func (d *Drift) Validate(worker int32) bool { return validate(worker) }

// SetOptions begins a generator for a worker number. A length of 0 means
// the default. After an error no ID can be made.
func (d *Drift) SetOptions(worker uint32, workerBits, seqLen uint8) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.setUp(settings{worker, workerBits, seqLen})
	d.trouble.Store(&err)
	d.ready.Store(err == nil)
	return err
}

func (d *Drift) setUp(s settings) error {
	if d.registered && s == d.now {
		return nil // a number has one fence
	}
	o := idgen.NewIdGeneratorOptions(0)
	if s.workerBits != 0 {
		o.WorkerIdBitLength = s.workerBits
	}
	if s.seqLen != 0 {
		o.SeqBitLength = s.seqLen
	}
	if !d.registered {
		if s.worker > 1<<16-1 {
			return InvalidError("worker %d: a number above 65535 comes from RegisterOne", s.worker)
		}
		o.WorkerId = uint16(s.worker)
		return invalid(idgen.TrySetIdGenerator(o))
	}
	layout, err := o.Layout()
	if err != nil {
		return invalid(err)
	}
	scheme, err := snowfence.NewScheme(layout)
	if err != nil {
		return invalid(err)
	}
	fence, err := fenceOf(int32(s.worker), scheme)
	if err != nil {
		return invalid(fmt.Errorf("%w (this process takes its numbers from Redis; for another number or other lengths "+
			"call RegisterOne again, and then SetOptions)", err))
	}
	if err := idgen.SetFence(fence, int64(o.TopOverCostCount)); err != nil {
		return invalid(errors.Join(err, fence.Close()))
	}
	d.now = s
	return nil
}

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return coded{Invalid, err}
}

// NextID returns a new ID.
func (d *Drift) NextID() (int64, error) {
	if !d.ready.Load() {
		if why := d.trouble.Load(); why != nil && *why != nil {
			return 0, *why
		}
		return 0, errNoOptions
	}
	if id, err := idgen.NextIdContext(expired); err == nil {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultMaxWait)
	defer cancel()
	return idgen.NextIdContext(ctx) // never 0, which C takes for an error: sequence numbers begin at 5
}
