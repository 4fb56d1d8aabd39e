package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/snowfence/snowfence"
)

type Order struct{ ent.Schema }

func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(snowfence.ID(0)).Positive(),
		field.String("name"),
	}
}
