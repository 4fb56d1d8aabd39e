package snowfence

// switchRollback moves the generator to another rollback value of the same hold when the
// clock stepped back: to one whose word is at or below now, so that ticks already used
// under the present value get other IDs. It reports whether the generator's pointer
// moved, by this goroutine or another.
//
// There is one word per rollback value for the life of a hold, so a value can never wrap
// onto ticks it has used; when no value is free at the present time, the generator waits.
// No word is sealed here: a goroutine that holds the earlier track may go on with it.
func (g *Generator) switchRollback(t *track, tick int64, now, bound uint64) bool {
	w := t.word.Load()
	if w >= sealed || tick < t.from || w < bound+t.span { // less than a tick too far is a sequence that is used up
		return false
	}
	tracks := t.hold.tracks
	n := len(tracks)
	for i := range tracks {
		if tracks[i] != t {
			continue
		}
		for j := 1; j < n; j++ {
			if s := tracks[(i+j)%n]; s.word.Load() <= now {
				s.halt() // what was published on it is of an earlier time
				g.cur.CompareAndSwap(t, s)
				return true
			}
		}
	}
	return g.cur.Load() != t
}
