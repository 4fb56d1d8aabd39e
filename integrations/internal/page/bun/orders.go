package orders

import (
	"context"

	"github.com/snowfence/snowfence"
	"github.com/uptrace/bun"
)

type Order struct {
	bun.BaseModel `bun:"table:orders"`

	ID     snowfence.ID `bun:",pk"`
	Parent *snowfence.ID
	Name   string
}

type idsKey struct{}

// WithIDs gives the hook its generator.
func WithIDs(ctx context.Context, ids *snowfence.Generator) context.Context {
	return context.WithValue(ctx, idsKey{}, ids)
}

func (o *Order) BeforeAppendModel(ctx context.Context, query bun.Query) (err error) {
	if _, ok := query.(*bun.InsertQuery); ok && o.ID == 0 {
		o.ID, err = ctx.Value(idsKey{}).(*snowfence.Generator).Next(ctx)
	}
	return err
}
