package server

import (
	"context"
	"math/bits"

	"github.com/snowfence/snowfence"
)

// IDs makes IDs for requests.
type IDs struct{ spaces *Spaces }

// Piece makes one piece of a stream: at most n IDs, and as many as the rate
// of the caller lets through. It calls use with them once, and returns how
// many. The layout and the rights may have changed since the last piece.
func (s *IDs) Piece(
	ctx context.Context, id *Identity, name string, n int64, tag *int64, use func([]snowfence.ID),
) (int64, error) {
	if err := context.Cause(ctx); err != nil { // the client is gone, or the server stops
		return 0, err
	}
	sp, err := s.spaces.Admit(ctx, id, VerbIDs, name, 0)
	if err == nil {
		n, err = id.Pace(ctx, n)
	}
	if err == nil {
		err = sp.Batch(ctx, int(n), tag, use)
	}
	if err != nil {
		return 0, err
	}
	sp.Made.Add(n)
	return n, nil
}

// smallBatch is up to how many IDs have no buffer that is used again.
const smallBatch = 1000

// idBuffer returns a slice for n IDs. Large ones are used again: a client
// that asks for millions and leaves would otherwise fill the memory faster
// than it is collected.
func (s *Spaces) idBuffer(n int) (ids []snowfence.ID, done func()) {
	if n <= smallBatch {
		return make([]snowfence.ID, n), func() {}
	}
	p, _ := s.buffers.Get().(*[]snowfence.ID)
	if p == nil || cap(*p) < n {
		ids := make([]snowfence.ID, 1<<bits.Len(uint(n-1)))
		p = &ids
	}
	return (*p)[:n], func() { s.buffers.Put(p) }
}
