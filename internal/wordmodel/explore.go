package wordmodel

import "hash/maphash"

// explorer visits all reachable states, breadth first, so that the first
// violation has a shortest trace.
type explorer[S comparable] struct {
	next func(s S, emit func(action int, to S)) // what can happen in s
	// what is wrong with s, "" if nothing; last: nothing can happen any more
	check func(s S, last bool) string
	limit int // states after which to give up
}

// result is what an exploration found: a proof only if complete, with violation
// empty.
type result struct {
	states    int
	complete  bool
	violation string
	trace     []int // the actions that lead there
}

// visit is how a state was first reached. After a state's turn only its 128-bit
// hash is kept.
type visit struct {
	parent int32
	action uint8
}

func (e explorer[S]) run(start S) result {
	seedA, seedB := maphash.MakeSeed(), maphash.MakeSeed()
	key := func(s S) [2]uint64 {
		return [2]uint64{maphash.Comparable(seedA, s), maphash.Comparable(seedB, s)}
	}
	seen := map[[2]uint64]struct{}{key(start): {}}
	visits := []visit{{parent: -1}}
	level, first := []S{start}, int32(0) // first is the index of level[0] in visits
	for len(level) > 0 {
		var after []S
		for i, s := range level {
			at := first + int32(i)
			last := true
			e.next(s, func(action int, to S) {
				last = false
				k := key(to)
				if _, ok := seen[k]; ok {
					return
				}
				seen[k] = struct{}{}
				visits = append(visits, visit{at, uint8(action)})
				after = append(after, to)
			})
			if v := e.check(s, last); v != "" {
				return result{states: len(visits), violation: v, trace: path(visits, at)}
			}
			if len(visits) > e.limit {
				return result{states: len(visits)}
			}
		}
		level, first = after, first+int32(len(level))
	}
	return result{states: len(visits), complete: true}
}

func path(visits []visit, at int32) []int {
	var back []int
	for ; visits[at].parent >= 0; at = visits[at].parent {
		back = append(back, int(visits[at].action))
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
