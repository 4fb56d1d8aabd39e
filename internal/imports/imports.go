// Package imports moves counters of other programs to sequences, while those programs run. It knows
// four of them, by the statements that they run themselves in MySQL and MariaDB: Leaf, tinyid,
// CosId and wuid.
//
// [Begin] takes a block from the counter as one more old program would, and makes a sequence of
// it: old programs and new ones take numbers side by side. When the old programs have stopped,
// [Finish] moves the counter out of their reach, and lets the sequence go on above all that it
// gave. Both may be repeated after a crash.
package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// System is the program that a counter belongs to.
type System string

// The systems.
const (
	Leaf   System = "leaf"   // Meituan-Dianping/Leaf in segment mode
	TinyID System = "tinyid" // didi/tinyid
	CosID  System = "cosid"  // Ahoo-Wang/CosId with segments over JDBC
	WUID   System = "wuid"   // edwingeng/wuid over MySQL
)

// Systems are those that are known, in the order of the documentation.
var Systems = []System{Leaf, TinyID, CosID, WUID}

// Counter is a counter of another program.
type Counter struct {
	System System
	Table  string // "" means the one of the system: leaf_alloc, tiny_id_info, cosid, wuid
	Name   string // in the table: biz_tag, biz_type, or namespace.name of CosId; wuid has none
}

// Begin takes a block of so many numbers from the counter, and makes a sequence of it: the ends of
// the block are Start and Max. The definition has neither, nor Step. A counter of wuid gives blocks
// of 2^36 numbers, whatever is asked for.
//
// If it is run again, it returns the sequence and takes nothing, as long as the block lasts. After
// that it takes another one, and the sequence goes on there. After a crash between two steps, the
// block of before is lost.
func Begin(
	ctx context.Context, old *sql.DB, c Counter, st store.Store, name string, block int64, d sequence.Definition,
) (sequence.Info, error) {
	k, err := c.known(block, d)
	if err != nil {
		return sequence.Info{}, err
	}
	now, err := k.look(ctx, old)
	if err != nil {
		return sequence.Info{}, err
	}
	info, err := sequence.Show(ctx, st, name)
	missing := errors.Is(err, sequence.ErrNoSequence)
	switch {
	case missing:
	case err != nil:
		return info, err
	default:
		if err := fits(info, c, now); err != nil || info.Left > 0 {
			return info, err
		}
	}
	if now.retired {
		return info, fmt.Errorf("%s was finished: there is nothing to take from it (%w)", c, lease.ErrRefused)
	}
	if missing {
		if err := try(ctx, name, d, now); err != nil { // before anything is taken
			return info, err
		}
	}
	b, err := k.take(ctx, old, block)
	if err != nil {
		return info, err
	}
	if missing {
		d.Start, d.Step, d.Max, d.BlockOf = &b.first, b.step, &b.last, c.String()
		err = sequence.Create(ctx, st, name, d)
	} else {
		err = goOn(ctx, st, name, b.first, b.last, c.String())
	}
	if err != nil {
		return info, fmt.Errorf("numbers %d to %d were taken from %s: %w", b.first, b.last, c, err)
	}
	return sequence.Show(ctx, st, name)
}

// Finish is for when all old programs have stopped. It renames the counter, so that they get
// nothing more, raises the sequence above all that both gave, and lifts its max to the
// definition's. Without a sequence it makes one, which starts above the counter.
//
// Run it again after a crash: each step is done once.
func Finish(
	ctx context.Context, old *sql.DB, c Counter, st store.Store, name string, d sequence.Definition,
) (sequence.Info, error) {
	k, err := c.known(1, sequence.Definition{Start: d.Start, Step: d.Step, Pattern: d.Pattern})
	if err != nil {
		return sequence.Info{}, err
	}
	info, err := sequence.Show(ctx, st, name)
	missing := errors.Is(err, sequence.ErrNoSequence)
	if err != nil && !missing || info.Deleted {
		return info, errors.Join(err, refuseDeleted(info))
	}
	now, err := k.look(ctx, old)
	if err == nil && !missing {
		err = finishable(info, c, now)
	}
	if err == nil && missing {
		err = try(ctx, name, d, now)
	}
	if err == nil {
		_, err = c.last(d, now)
	}
	if err != nil {
		return info, err
	}
	if err := k.retire(ctx, old); err != nil {
		return info, err
	}
	if now, err = k.look(ctx, old); err != nil { // no program can have taken anything since
		return info, err
	}
	last, err := c.last(d, now)
	switch {
	case err != nil:
	case missing:
		d.Start, d.Step, d.Max = &now.next, now.step, &last
		err = sequence.Create(ctx, st, name, d)
	case *info.Definition.Max < now.next:
		err = goOn(ctx, st, name, now.next, last, "")
	}
	if err != nil {
		return info, err
	}
	return sequence.Show(ctx, st, name)
}

// goOn lets a sequence go on with other numbers. The floor is raised first, because below it are
// numbers of the old programs.
func goOn(ctx context.Context, st store.Store, name string, first, last int64, blockOf string) error {
	if err := sequence.Confirm(ctx, st, name, sequence.Confirmation{Floor: &first}); err != nil {
		return err
	}
	return sequence.Update(ctx, st, name, sequence.Changes{Max: &last, BlockOf: &blockOf})
}

// block is numbers that a counter gave.
type block struct{ first, last, step int64 }

// position is how far a counter is: the next number that it would give.
type position struct {
	next, step int64
	retired    bool // it was renamed
}

// kind is how a counter is used.
type kind interface {
	look(ctx context.Context, db *sql.DB) (position, error)
	take(ctx context.Context, db *sql.DB, n int64) (block, error)
	retire(ctx context.Context, db *sql.DB) error
}

// known returns how the counter is used.
func (c Counter) known(block int64, d sequence.Definition) (kind, error) {
	switch {
	case block < 1 || block > math.MaxInt64/2:
		return nil, fmt.Errorf("a block of %d numbers: use 1 or more (%w)", block, lease.ErrInvalid)
	case d.Start != nil || d.Step != 0 || d.Max != nil || d.Pattern != "":
		return nil, fmt.Errorf("the counter says start, step and max: leave them out (%w)", lease.ErrInvalid)
	case c.Name == "" && c.System != WUID:
		return nil, fmt.Errorf("%s has many counters: name one (%w)", c.System, lease.ErrInvalid)
	case c.System == WUID && (c.Name != "" || strings.Contains(c.Table, ".")):
		return nil, fmt.Errorf("wuid has a table for each counter: name that only, without its database (%w)",
			lease.ErrInvalid)
	}
	switch c.System {
	case Leaf:
		return leaf{c.rows("leaf_alloc", "biz_tag", "max_id")}, nil
	case TinyID:
		return tinyid{c.rows("tiny_id_info", "biz_type", "max_id")}, nil
	case CosID:
		return cosid{c.rows("cosid", "name", "last_max_id")}, nil
	case WUID:
		if c.Table == "" {
			c.Table = "wuid"
		}
		return wuid{c.Table}, nil
	}
	return nil, fmt.Errorf("there is no system %q: use leaf, tinyid, cosid or wuid (%w)", c.System, lease.ErrInvalid)
}

func (c Counter) String() string {
	if c.System == WUID {
		return "the counter of wuid"
	}
	return fmt.Sprintf("counter %q of %s", c.Name, c.System)
}

// try makes the sequence in memory, so that what is wrong with it shows before a block is taken.
func try(ctx context.Context, name string, d sequence.Definition, now position) error {
	d.Start, d.Step = &now.next, now.step
	return sequence.Create(ctx, store.NewMemory(), name, d)
}

// fits refuses sequences that Begin did not make of the counter.
func fits(info sequence.Info, c Counter, now position) error {
	d := info.Definition
	if !info.Deleted && d.BlockOf == c.String() && d.Step == now.step && *d.Max < now.next {
		return nil
	}
	return fmt.Errorf("sequence %q: it is there, and not of a block of %s: name another one (%w)", info.Name, c,
		lease.ErrExists)
}

// finishable refuses sequences that were never made of the counter. One that was finished is fine.
func finishable(info sequence.Info, c Counter, now position) error {
	if now.retired && *info.Definition.Max >= now.next && info.Definition.Step == now.step {
		return nil
	}
	return fits(info, c, now)
}

func refuseDeleted(info sequence.Info) error {
	if !info.Deleted {
		return nil
	}
	return fmt.Errorf("sequence %q was deleted: create it again first (%w)", info.Name, lease.ErrRefused)
}

// last is where the sequence ends that goes on from a position.
func (c Counter) last(d sequence.Definition, now position) (int64, error) {
	const exactInJavaScript = 1<<53 - 1
	switch {
	case d.Max != nil && *d.Max < now.next:
		return 0, fmt.Errorf("max %d is below %d, where %s ends: use a higher one (%w)", *d.Max, now.next, c,
			lease.ErrInvalid)
	case d.Max != nil:
		return *d.Max, nil
	case now.next <= exactInJavaScript:
		return exactInJavaScript, nil
	}
	return math.MaxInt64, nil
}
