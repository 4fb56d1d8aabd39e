package idgen

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// IdGeneratorOptions are the settings of snow-drift, including two that
// only its C# port has: a data center, and seconds.
type IdGeneratorOptions struct {
	Method            uint16 // 2: IDs never run ahead of the clock; anything else: they may, as TopOverCostCount says
	BaseTime          int64  // start of the time in an ID, in milliseconds since 1970; not in the future
	WorkerId          uint16 // 0 to 2^WorkerIdBitLength - 1; no other process may have it
	WorkerIdBitLength byte   // 1 to 19
	SeqBitLength      byte   // 3 to 21; all bit lengths together are at most 22, or 31 with seconds
	MaxSeqNumber      uint32 // last sequence number; 0 means the highest that SeqBitLength holds
	MinSeqNumber      uint32 // first sequence number, from 5 up: 0 to 4 are reserved

	// TopOverCostCount is how many milliseconds IDs may run ahead of the
	// clock, at most 10000. 0 means 2000, as in the Go original. With
	// seconds, IDs never run ahead.
	TopOverCostCount uint32

	DataCenterId          uint32 // stands above the worker
	DataCenterIdBitLength byte   // 0: no data center
	TimestampType         byte   // 0: milliseconds; 1: seconds
}

const (
	baseTime = 1582136402000 // the default of snow-drift, but for its C# port
	earliest = 631123200000  // the original takes no BaseTime before

	maxWorkerBits = 19
	maxSeqBits    = 21
	maxMilliBits  = 22 // of all fields below the time
	maxSecondBits = 31
	firstSeq      = 5

	defaultLead = 2000
	maxLead     = 10000
)

// NewIdGeneratorOptions returns the default settings: 6 bits for the
// worker, 6 for the sequence.
func NewIdGeneratorOptions(workerId uint16) *IdGeneratorOptions {
	return &IdGeneratorOptions{
		Method:            1,
		WorkerId:          workerId,
		BaseTime:          baseTime,
		WorkerIdBitLength: 6,
		SeqBitLength:      6,
		MinSeqNumber:      firstSeq,
		TopOverCostCount:  defaultLead,
	}
}

// Layout returns the layout of the IDs, for a fence or a namespace.
func (o *IdGeneratorOptions) Layout() (snowfence.Layout, error) {
	s, err := o.scheme(nil)
	if err != nil {
		return snowfence.Layout{}, err
	}
	return s.Layout(), nil
}

// scheme checks the options by the time of a clock; nil is the system's.
func (o *IdGeneratorOptions) scheme(clock snowfence.TimeSource) (*snowfence.Scheme, error) {
	now := time.Now()
	if clock != nil {
		now, _ = clock()
	}
	if err := o.check(now); err != nil {
		return nil, err
	}
	s, err := snowfence.NewScheme(o.layout())
	if err != nil {
		return nil, fmt.Errorf("idgen: %w", err)
	}
	if tick := s.Layout().TickOf(now); tick > s.MaxTick() {
		return nil, fmt.Errorf("idgen: %w: %d bits of time ended before %s: take a later BaseTime or fewer bits below",
			snowfence.ErrLifetime, 63-o.shift(), now.UTC().Format(time.RFC3339))
	}
	return s, nil
}

// layout needs checked options.
func (o *IdGeneratorOptions) layout() snowfence.Layout {
	fields := []snowfence.Field{{Name: snowfence.FieldTime, Bits: 63 - o.shift()}}
	worker := snowfence.FieldNode
	if o.DataCenterIdBitLength > 0 {
		worker = "worker"
		fields = append(fields, snowfence.Field{Name: "datacenter", Bits: int(o.DataCenterIdBitLength)})
	}
	return snowfence.Layout{
		Epoch: time.UnixMilli(o.BaseTime).UTC(),
		Tick:  o.tick(),
		First: int64(o.MinSeqNumber),
		Last:  int64(o.last()),
		Fields: append(fields,
			snowfence.Field{Name: worker, Bits: int(o.WorkerIdBitLength)},
			snowfence.Field{Name: snowfence.FieldSequence, Bits: int(o.SeqBitLength)}),
	}
}

// shift is the number of bits below the time.
func (o *IdGeneratorOptions) shift() int {
	return int(o.DataCenterIdBitLength) + int(o.WorkerIdBitLength) + int(o.SeqBitLength)
}

func (o *IdGeneratorOptions) tick() time.Duration {
	if o.TimestampType == 1 {
		return time.Second
	}
	return time.Millisecond
}

func (o *IdGeneratorOptions) last() uint32 { return cmp.Or(o.MaxSeqNumber, 1<<o.SeqBitLength-1) }

// node is the data center and the worker as one number.
func (o *IdGeneratorOptions) node() int64 {
	return int64(o.DataCenterId)<<o.WorkerIdBitLength | int64(o.WorkerId)
}

// lead is how many ticks IDs may run ahead of the clock.
func (o *IdGeneratorOptions) lead() int64 {
	switch {
	case o.Method == 2 || o.TimestampType == 1:
		return 0
	case o.TopOverCostCount == 0:
		return defaultLead
	}
	return int64(o.TopOverCostCount)
}

// check returns the first fault.
func (o *IdGeneratorOptions) check(now time.Time) error {
	if o == nil {
		return errors.New("idgen: options are nil: take NewIdGeneratorOptions")
	}
	most := maxMilliBits
	if o.TimestampType == 1 {
		most = maxSecondBits
	}
	switch {
	case o.TimestampType > 1:
		return fmt.Errorf("idgen: TimestampType is %d; want 0 (milliseconds) or 1 (seconds)", o.TimestampType)
	case o.BaseTime < earliest:
		return fmt.Errorf("idgen: BaseTime is %d; want milliseconds since 1970, from %d up",
			o.BaseTime, int64(earliest))
	case o.BaseTime > now.UnixMilli():
		return fmt.Errorf("idgen: BaseTime is %d, which is in the future: the clock says %d",
			o.BaseTime, now.UnixMilli())
	case o.WorkerIdBitLength < 1 || o.WorkerIdBitLength > maxWorkerBits:
		return fmt.Errorf("idgen: WorkerIdBitLength is %d; want 1 to %d", o.WorkerIdBitLength, maxWorkerBits)
	case o.shift() > most:
		return fmt.Errorf("idgen: the bit lengths of data center, worker and sequence are %d together; want at most %d",
			o.shift(), most)
	case uint64(o.WorkerId)>>o.WorkerIdBitLength != 0:
		return fmt.Errorf("idgen: WorkerId is %d; WorkerIdBitLength %d holds 0 to %d",
			o.WorkerId, o.WorkerIdBitLength, 1<<o.WorkerIdBitLength-1)
	case uint64(o.DataCenterId)>>o.DataCenterIdBitLength != 0:
		return fmt.Errorf("idgen: DataCenterId is %d; DataCenterIdBitLength %d holds 0 to %d",
			o.DataCenterId, o.DataCenterIdBitLength, 1<<o.DataCenterIdBitLength-1)
	case o.SeqBitLength < 3 || o.SeqBitLength > maxSeqBits: // the original takes 2, but no MinSeqNumber for it
		return fmt.Errorf("idgen: SeqBitLength is %d; want 3 to %d", o.SeqBitLength, maxSeqBits)
	case o.MaxSeqNumber>>o.SeqBitLength != 0:
		return fmt.Errorf("idgen: MaxSeqNumber is %d; SeqBitLength %d holds up to %d",
			o.MaxSeqNumber, o.SeqBitLength, 1<<o.SeqBitLength-1)
	case o.MinSeqNumber < firstSeq || o.MinSeqNumber > o.last():
		return fmt.Errorf("idgen: MinSeqNumber is %d; want %d to %d, the last number",
			o.MinSeqNumber, firstSeq, o.last())
	case o.TopOverCostCount > maxLead:
		return fmt.Errorf("idgen: TopOverCostCount is %d; want at most %d", o.TopOverCostCount, maxLead)
	}
	return nil
}

// withDefaults returns the options of workers without a generator.
func (o *IdGeneratorOptions) withDefaults(method uint16) *IdGeneratorOptions {
	if o == nil {
		return nil
	}
	d := *o
	d.Method = method
	d.BaseTime = cmp.Or(d.BaseTime, baseTime)
	d.WorkerIdBitLength = cmp.Or(d.WorkerIdBitLength, 6)
	d.SeqBitLength = cmp.Or(d.SeqBitLength, 6)
	return &d
}

// optionsOf returns the options of a layout, for worker 0.
func optionsOf(l snowfence.Layout) (IdGeneratorOptions, error) {
	o := IdGeneratorOptions{
		BaseTime:          l.Epoch.UnixMilli(),
		WorkerIdBitLength: byte(l.Bits(snowfence.FieldNode)),
		SeqBitLength:      byte(l.Bits(snowfence.FieldSequence)),
		MinSeqNumber:      uint32(l.First),
		MaxSeqNumber:      uint32(l.Last),
	}
	if l.Tick == time.Second {
		o.TimestampType = 1
	}
	if parts := l.NodeParts(); len(parts) == 2 {
		o.DataCenterIdBitLength, o.WorkerIdBitLength = byte(parts[0].Bits), byte(parts[1].Bits)
	}
	err := o.check(time.Now())
	if err == nil {
		want := o.layout()
		for i := range min(len(want.Fields), len(l.Fields)) {
			if p := &want.Fields[i]; p.Name != snowfence.FieldTime && p.Name != snowfence.FieldSequence {
				p.Name = l.Fields[i].Name // a part of the node may have any name
			}
		}
		if want.Equal(l) {
			return o, nil
		}
		err = fmt.Errorf("these options have the layout %s", o.layout())
	}
	return o, fmt.Errorf("idgen: the fence has the layout %s, which options of snow-drift cannot have: "+
		"make one from IdGeneratorOptions.Layout: %w", l, err)
}
