// Package schema describes the tables of the example for ent.
package schema

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowfence/snowfence"
)

// Next makes the IDs of lines. Set it before the first row is created.
var Next func(context.Context) (snowfence.ID, error)

// Order gets its ID by a hook, which sees the context and can fail.
type Order struct{ ent.Schema }

// Fields of an order.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(snowfence.ID(0)).Positive(),
		field.String("name"),
	}
}

// Line gets its ID by a default, which can do neither: Positive refuses the 0 of a failure.
type Line struct{ ent.Schema }

// Fields of a line.
func (Line) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(snowfence.ID(0)).Positive().DefaultFunc(func() snowfence.ID {
			id, _ := Next(context.Background())
			return id
		}),
		field.String("name"),
	}
}
