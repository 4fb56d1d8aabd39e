package orders

import "github.com/snowfence/snowfence"

type Order struct {
	ID     snowfence.ID  `json:"id"`
	Parent *snowfence.ID `json:"parent,omitempty"`
}
