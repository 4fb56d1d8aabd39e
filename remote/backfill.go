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

// Backfill is a time gone by for which IDs are wanted.
type Backfill struct {
	Namespace string // "" means lease.DefaultNamespace
	At        time.Time
	Node      int64 // no client needs to hold it
}

// FillAt writes IDs for a time gone by to dst: all, or none and an error. The namespace must allow
// them (snowfence namespace change --backfill). The token needs the verb ids. A request without an
// answer is made again, and uses up others.
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
