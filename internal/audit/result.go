package audit

import (
	"time"

	"github.com/snowfence/snowfence"
)

// Result is what an audit found. Positions count IDs from 0 as they came.
type Result struct {
	Count      int64        `json:"count"`
	Distinct   int64        `json:"distinct"`
	Lowest     snowfence.ID `json:"lowest"`
	Highest    snowfence.ID `json:"highest"`
	Duplicates Duplicates   `json:"duplicates"`
	Order      Order        `json:"order"`
	Gaps       Gaps         `json:"-"`
	Fields     *Fields      `json:"fields,omitempty"` // nil without a scheme
	Evenness   []Evenness   `json:"evenness"`         // empty for IDs with a time that can be read, and for too few
}

// Duplicates are IDs that came more than once.
type Duplicates struct {
	IDs   int64       `json:"ids"`   // that came more than once
	Extra int64       `json:"extra"` // how many too many came
	List  []Duplicate `json:"list"`  // the lowest of these IDs, up to Options.Limit
}

// Duplicate is one of them.
type Duplicate struct {
	ID        snowfence.ID `json:"id"`
	Count     int64        `json:"count"`
	Positions []int64      `json:"positions"`        // the first 16
	Places    []string     `json:"places,omitempty"` // the same, named by who read the IDs
}

// Order says where IDs were lower than the one before; equal ones are
// duplicates. 64-bit schemes compare unsigned, which is the order of time,
// and encrypted IDs as before encryption. Where fields stand above the
// time, only times are compared.
type Order struct {
	Violations int64  `json:"violations"`
	List       []Step `json:"list"` // the first, up to Options.Limit
}

// Step is an ID that is lower than the one before.
type Step struct {
	Position int64        `json:"position"`
	Before   snowfence.ID `json:"before"`
	ID       snowfence.ID `json:"id"`
	Place    string       `json:"place,omitempty"` // of Position, named by who read the IDs
}

// Gaps are numbers between the lowest and highest ID that did not come.
type Gaps struct {
	Count   int64  // places where numbers are missing
	Missing uint64 // numbers that are missing
	List    []Gap  // the lowest, up to Options.Limit
}

// Gap is two IDs with none between them. With Options.Counts, After may be
// one before the first number, which need not have come.
type Gap struct {
	After, Before snowfence.ID
	Missing       uint64
}

// Fields says what is in the fields of the IDs.
type Fields struct {
	Layout   snowfence.Layout `json:"layout"`
	Foreign  int64            `json:"foreign"` // IDs that are not of the layout; nothing below counts them
	First    time.Time        `json:"first"`   // of the earliest and the latest ID; zero if all are foreign
	Last     time.Time        `json:"last"`
	Nodes    Nodes            `json:"nodes"`
	Sequence int64            `json:"highest_sequence"`
}

// Nodes says which nodes made IDs.
type Nodes struct {
	Seen int64       `json:"seen"`
	More int64       `json:"more,omitempty"` // IDs of nodes that were not counted, as there were more than 262,144
	Of   uint64      `json:"of"`             // how many nodes the layout has
	List []NodeCount `json:"list"`           // all that were counted, the busiest first
}

// NodeCount is the number of IDs of a node.
type NodeCount struct {
	Node  int64 `json:"node"`
	Count int64 `json:"count"`
}
