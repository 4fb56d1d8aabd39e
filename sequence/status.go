package sequence

// Status is the state of a sequence in one program.
type Status struct {
	Held    int64 // numbers that the program took from the store, and has not given out yet
	Left    int64 // numbers left for all programs when the store answered last
	Trouble error // why the store gives no numbers at present; nil while it does
}

// Status returns the state of the sequence in this program.
func (s *Sequence) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{
		Held:    s.cur.Load().left() + s.next.len(),
		Left:    max(0, s.lastState.course.count-s.lastState.counter.From),
		Trouble: s.trouble,
	}
}

// Definition returns the definition, with every default written out, as it
// was read last.
func (s *Sequence) Definition() Definition { return s.definition() }

// Definition returns the definition, as [Sequence.Definition] does.
func (d *Dated) Definition() Definition { return d.definition() }
