package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence/internal/world"
)

// Addition raises the count that a record keeps in From. It is how a
// sequence takes numbers.
type Addition struct {
	Key        Key
	N          int64  // by how much, at least 1
	Limit      int64  // the count goes no further
	Generation int64  // of the record; if it has another, nothing is done
	Nonce      string // how the record's next nonce begins; see NonceAt
}

// NonceAt returns the nonce that the addition gives a record with its new
// revision. If a proxy repeats an addition, the record gets two nonces, one
// after the other, so no swap takes the later record for the earlier.
func (a Addition) NonceAt(revision int64) string {
	return a.Nonce + "." + strconv.FormatInt(revision, 10)
}

// apply returns the record after the addition. A count at the limit or
// above stays.
func (a Addition) apply(r Record) Record {
	r.Revision++
	r.Nonce = a.NonceAt(r.Revision)
	r.PrevUntil = r.From
	r.From += max(0, min(a.N, a.Limit-r.From))
	return r
}

// Add carries out an addition on any store, with the promise of
// [Store].Add. If the store cannot add, it reads the record and swaps it,
// again and again until no other process was faster.
func Add(ctx context.Context, st Store, a Addition) (_ Record, reply Reply, _ error) {
	r, reply, err := st.Add(ctx, a)
	if !errors.Is(err, errors.ErrUnsupported) {
		return r, reply, err
	}
	w := world.From(ctx)
	for attempt := 0; ; attempt++ {
		rs, _, err := st.Get(ctx, []Key{a.Key})
		if err != nil {
			return Record{}, reply, err
		}
		if rs[0].Nonce == "" || rs[0].Generation != a.Generation {
			return Record{}, reply, ErrLost
		}
		next := a.apply(rs[0])
		wrote, err := Put(ctx, st, Write{rs[0].Nonce, next})
		if err == nil { // who the store is, a swap may tell from before it
			if _, reply, err = st.Get(ctx, []Key{a.Key}); err == nil {
				err = wrote.Join(reply)
			}
			return next, reply, err
		}
		if !errors.Is(err, ErrLost) {
			return Record{}, reply, err
		}
		if w.Wait(world.Jitter(w, attempt), ctx.Done()) == 0 {
			return Record{}, reply, fmt.Errorf("lease: other processes changed the record before each try: %w",
				ctx.Err())
		}
	}
}
