package remote

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Backfill is a time in the past for which a caller wants IDs.
type Backfill struct {
	Namespace string // "" means lease.DefaultNamespace
	At        time.Time
	Node      int64 // no client needs to hold it
}

// FillAt fills dst with IDs for a time in the past, or returns an error and
// no IDs. The namespace must allow them (snowfence namespace change
// --backfill). The token needs the verb ids. The client repeats a request
// without an answer, and the repetition uses up other IDs.
func (c *Client) FillAt(ctx context.Context, dst []snowfence.ID, p Backfill) error {
	switch n := len(dst); {
	case n == 0:
		return nil
	case n > 1_000_000:
		return fmt.Errorf("remote: %d IDs: ask for at most 1,000,000 at a time", n)
	}
	res, err := ask(ctx, c, 0, func(ctx context.Context, s *peer) (*connect.Response[pb.NextResponse], error) {
		return s.ids.NextAt(ctx, connect.NewRequest(&pb.NextAtRequest{
			Namespace: p.Namespace, Count: uint32(len(dst)), At: timestamppb.New(p.At), Node: p.Node,
		}))
	})
	if err != nil {
		return err
	}
	if n := len(res.Msg.Ids); n != len(dst) {
		return fmt.Errorf("remote: the server gave %d IDs, not %d", n, len(dst))
	}
	for i, id := range res.Msg.Ids {
		dst[i] = snowfence.ID(id)
	}
	return nil
}
