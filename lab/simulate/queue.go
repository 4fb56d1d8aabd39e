package simulate

import (
	"cmp"
	"container/heap"
	"time"
)

// event is something that happens at a moment of virtual time.
type event struct {
	at  time.Duration
	seq uint64 // events of one moment happen in the order in which they were planned
	do  func()
}

// queue has the events that are planned, the next one first. It is a
// [heap.Interface].
type queue []event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(e any) { *q = append(*q, e.(event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last], *q = event{}, (*q)[:last]
	return e
}

func (q *queue) planEvent(e event) { heap.Push(q, e) }

func (q *queue) next() event { return heap.Pop(q).(event) }
