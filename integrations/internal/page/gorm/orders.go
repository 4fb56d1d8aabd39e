package orders

import (
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/integrations/gormid"
	"gorm.io/gorm"
)

type Order struct {
	ID         snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
	CustomerID *snowfence.ID
	Name       string
}

func FillKeys(db *gorm.DB, ids *snowfence.Generator) error {
	return db.Use(gormid.New(ids.Next))
}
