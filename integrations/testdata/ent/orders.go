package orders

import (
	"context"

	"example.com/orders/ent"
	"example.com/orders/ent/hook"
	"github.com/snowfence/snowfence"
)

func FillKeys(client *ent.Client, ids *snowfence.Generator) {
	client.Order.Use(hook.On(func(next ent.Mutator) ent.Mutator {
		return hook.OrderFunc(func(ctx context.Context, m *ent.OrderMutation) (ent.Value, error) {
			if _, given := m.ID(); !given {
				id, err := ids.Next(ctx)
				if err != nil {
					return nil, err
				}
				m.SetID(id)
			}
			return next.Mutate(ctx, m)
		})
	}, ent.OpCreate))
}
