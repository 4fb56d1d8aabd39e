package idgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// ISnowWorker makes the IDs of a [DefaultIdGenerator].
type ISnowWorker interface {
	NextId() int64
}

// DefaultIdGenerator makes IDs with options of its own. It is safe for
// concurrent use, and needs no Close unless it is over a fence. Copies
// share one generator. The zero value makes no IDs: NewLong panics and
// names the constructor.
type DefaultIdGenerator struct {
	Options    *IdGeneratorOptions // a copy; to change it has no effect
	SnowWorker ISnowWorker         // makes the IDs of NewLong
	worker     *worker
}

// worker is a generator and how to read its IDs.
type worker struct {
	handle  *process.Handle
	options IdGeneratorOptions
	fenced  bool // over a fence, not in the registry
}

// NewDefaultIdGenerator returns a generator. It panics if options are bad.
func NewDefaultIdGenerator(options *IdGeneratorOptions) *DefaultIdGenerator {
	return must(TryNewDefaultIdGenerator(options))
}

// TryNewDefaultIdGenerator is [NewDefaultIdGenerator], but returns an
// error.
func TryNewDefaultIdGenerator(options *IdGeneratorOptions) (*DefaultIdGenerator, error) {
	return open(options, nil)
}

// NewSnowWorkerM1 returns a worker without a generator around it. BaseTime
// and bit lengths of 0 mean the default. It panics if options are bad.
func NewSnowWorkerM1(options *IdGeneratorOptions) ISnowWorker {
	return NewDefaultIdGenerator(options.withDefaults(1)).SnowWorker
}

// NewSnowWorkerM2 is [NewSnowWorkerM1] for IDs that never run ahead of the
// clock.
func NewSnowWorkerM2(options *IdGeneratorOptions) ISnowWorker {
	return NewDefaultIdGenerator(options.withDefaults(2)).SnowWorker
}

// NewOn returns a generator over a lease, a state file or another fence
// with the layout [IdGeneratorOptions.Layout]. The fence decides which
// worker it uses. IDs run up to lead ticks ahead of the clock, as with
// TopOverCostCount; a lead of 0 is Method 2. Close gives the worker back.
// NewOn refuses a worker that this process uses without a fence.
func NewOn(f snowfence.Fence, lead int64) (*DefaultIdGenerator, error) {
	w, err := on(f, process.Options{Lead: lead})
	if err != nil {
		return nil, err
	}
	return newGenerator(w), nil
}

func open(options *IdGeneratorOptions, clock snowfence.TimeSource) (*DefaultIdGenerator, error) {
	scheme, err := options.scheme(clock)
	if err != nil {
		return nil, err
	}
	w, err := enter(scheme, options, clock)
	if err != nil {
		return nil, err
	}
	return newGenerator(w), nil
}

// enter returns the worker of checked options.
//
// Invariant: generators in use that could make an ID of this one are
// sealed, and it starts above all that they made.
func enter(s *snowfence.Scheme, o *IdGeneratorOptions, clock snowfence.TimeSource) (*worker, error) {
	h, err := process.Open(s, o.node(), process.Options{Lead: o.lead(), Replace: true, Time: clock})
	if err != nil {
		return nil, fmt.Errorf("idgen: %w", err)
	}
	return &worker{handle: h, options: *o}, nil
}

func on(f snowfence.Fence, o process.Options) (*worker, error) {
	if f == nil || f.Scheme() == nil {
		return nil, errors.New("idgen: the fence is nil or has no scheme: use a lease or statefile.File")
	}
	options, err := optionsOf(f.Scheme().Layout())
	if err != nil {
		return nil, err
	}
	h, err := process.On(f, o)
	if err != nil {
		return nil, fmt.Errorf("idgen: %w", err)
	}
	return &worker{handle: h, options: options, fenced: true}, nil
}

func newGenerator(w *worker) *DefaultIdGenerator {
	options := w.options
	return &DefaultIdGenerator{Options: &options, SnowWorker: w, worker: w}
}

// NewLong returns a new ID.
func (dig DefaultIdGenerator) NewLong() int64 {
	if dig.SnowWorker == nil {
		panic(errZero)
	}
	return dig.SnowWorker.NextId()
}

var errZero = fmt.Errorf("idgen: a generator without options: make it with NewDefaultIdGenerator or NewOn (%w)",
	snowfence.ErrClosed)

// NewLongContext is [DefaultIdGenerator.NewLong], but waits at most until
// ctx ends, and returns errors.
func (dig DefaultIdGenerator) NewLongContext(ctx context.Context) (int64, error) {
	switch {
	case dig.worker != nil:
		id, err := dig.worker.handle.Next(ctx)
		return int64(id), say(err)
	case dig.SnowWorker != nil:
		return dig.SnowWorker.NextId(), nil // the caller's own
	}
	return 0, errZero
}

// ExtractTime returns the time of an ID that was made with these options;
// for the zero value, with the default ones.
func (dig DefaultIdGenerator) ExtractTime(id int64) time.Time {
	if dig.worker != nil {
		return dig.worker.options.timeOf(id)
	}
	if dig.Options != nil {
		return dig.Options.withDefaults(dig.Options.Method).timeOf(id)
	}
	return NewIdGeneratorOptions(0).timeOf(id)
}

// Close ends the use of the generator, and gives the worker of a fence
// back. After that NewLong panics. Other generators with equal options go
// on.
func (dig DefaultIdGenerator) Close() error {
	if dig.worker == nil {
		return nil
	}
	return dig.worker.close()
}

// NextId returns a new ID.
func (w *worker) NextId() int64 {
	id, err := w.handle.Next(context.Background())
	if err != nil {
		panic(say(err))
	}
	return int64(id)
}

func (w *worker) close() error {
	if err := w.handle.Close(); err != nil {
		return fmt.Errorf("idgen: %w", err)
	}
	return nil
}

// timeOf needs no ID of a layer: whatever stands below the time is cut off.
func (o *IdGeneratorOptions) timeOf(id int64) time.Time {
	tick := id >> o.shift()
	if o.TimestampType == 1 {
		return time.Unix(o.BaseTime/1000+tick, o.BaseTime%1000*int64(time.Millisecond))
	}
	return time.UnixMilli(o.BaseTime + tick)
}

// say translates the error of a closed generator.
func say(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, snowfence.ErrClosed):
		return fmt.Errorf("idgen: %w, or replaced by one with other sequence numbers for the same worker: "+
			"give one worker one set of options, and close it last", err)
	}
	return fmt.Errorf("idgen: %w", err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
