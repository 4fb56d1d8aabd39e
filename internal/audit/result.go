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
	Gaps       Gaps         `json:"gaps"`
	Fields     *Fields      `json:"fields,omitempty"` // nil without a scheme
	Uniformity Uniformity   `json:"uniformity"`
}

// Timed reports whether the IDs have a time that can be read. They are not even, and need not be.
func (r *Result) Timed() bool { return r.Fields != nil && r.Fields.Peak != nil }

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

// Order says where IDs were lower than the one before; equal ones are duplicates.
// 64-bit schemes compare unsigned, which is the order of time, and encrypted IDs
// as before encryption.
type Order struct {
	Violations int64  `json:"violations"`
	Deepest    uint64 `json:"deepest"` // the largest step back, as a difference of IDs
	List       []Step `json:"list"`    // the first, up to Options.Limit
}

// Step is an ID that is lower than the one before.
type Step struct {
	Position int64        `json:"position"`
	Before   snowfence.ID `json:"before"`
	ID       snowfence.ID `json:"id"`
	Place    string       `json:"place,omitempty"` // of Position, named by who read the IDs
}

// Gaps are numbers between the lowest and highest ID that did not come: missing
// numbers of a sequence, or times without any ID.
type Gaps struct {
	Count   int64  `json:"count"`   // places where numbers are missing
	Missing uint64 `json:"missing"` // numbers that are missing
	Largest []Gap  `json:"largest"` // at most 10
	List    []Gap  `json:"-"`       // the lowest, up to Options.Limit
}

// Gap is two IDs with none between them. With Options.Counts, After may be one before the first
// number, which need not have come.
type Gap struct {
	After   snowfence.ID  `json:"after"`
	Before  snowfence.ID  `json:"before"`
	Missing uint64        `json:"missing"`
	Time    time.Duration `json:"time_ns,omitempty"` // between the two, with a scheme whose IDs are not encrypted
}

// Fields says what is in the fields of the IDs.
type Fields struct {
	Layout  snowfence.Layout `json:"layout"`
	Foreign int64            `json:"foreign"` // IDs that are not of the layout; none of the numbers below counts them
	First   time.Time        `json:"first"`   // of the earliest and the latest IDs
	Last    time.Time        `json:"last"`
	Peak    *Peak            `json:"peak,omitempty"` // nil for encrypted IDs, which are not sorted by time
	Series  Series           `json:"series"`
	Nodes   Nodes            `json:"nodes"`
	Heat    Heat             `json:"heat"`
	// Sequence counts sequence numbers.
	Sequence Sequence `json:"sequence"`
}

// Peak is the second, or longer tick, with the most IDs. Seconds count from the
// layout's epoch.
type Peak struct {
	Start time.Time     `json:"start"`
	Width time.Duration `json:"width_ns"`
	Count int64         `json:"count"`
}

// Series counts IDs over time.
type Series struct {
	Start  time.Time     `json:"start"`
	Width  time.Duration `json:"width_ns"` // of each bin
	Counts []int64       `json:"counts"`
}

// Nodes says which nodes made IDs.
type Nodes struct {
	Seen  int64       `json:"seen"`
	More  int64       `json:"more,omitempty"` // IDs of nodes that were not counted, as there were more than 262,144
	Of    uint64      `json:"of"`             // how many nodes the layout has
	List  []NodeCount `json:"list"`           // the busiest, up to Options.Limit
	First int64       `json:"first"`          // lowest and highest node seen
	Last  int64       `json:"last"`
}

// NodeCount is the number of IDs of a node.
type NodeCount struct {
	Node  int64 `json:"node"`
	Count int64 `json:"count"`
}

// Heat counts IDs by node and time: Counts[i][j] are of NodeWidth nodes
// from Node + i·NodeWidth, in Width from Start + j·Width.
type Heat struct {
	Start     time.Time     `json:"start"`
	Width     time.Duration `json:"width_ns"`
	Node      int64         `json:"node"`
	NodeWidth int64         `json:"node_width"`
	Counts    [][]int64     `json:"counts"`
}

// Sequence says which sequence numbers IDs have.
type Sequence struct {
	Highest int64 `json:"highest"`
	Last    int64 `json:"last"` // the last one that the layout allows
	Full    int64 `json:"full"` // IDs that have it, so that their tick was used up
	Width   int64 `json:"width"`

	// Reserved are IDs with a number below the layout's first: made by hand, or
	// by snow-drift after the clock stepped back.
	Reserved int64 `json:"reserved"`

	Counts []int64 `json:"counts"` // of Width sequence numbers each, from 0 up
}
