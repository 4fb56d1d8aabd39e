package trail

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/proto"
)

// Recorder is a store through which one person manages, by one goroutine. It writes an event before
// the first change of each namespace and sequence, and what was changed at its end. What cannot be
// written down is not done.
type Recorder struct {
	store.Store
	Copies store.Store // to which the events are copied meanwhile; nil for none
	actor  Actor
	seen   map[store.Key]store.Record // as they were last read or written
	events map[string]*entry          // by namespace, or sequence with a # before it
}

// entry is an event that is under way.
type entry struct {
	*pb.Event
	before, after map[store.Key]store.Record // of what was changed
	changed       bool
	doubt         bool // a change may have been made, or not
}

// Record returns a store that writes down what is changed through it. Call End after the changes.
func Record(st store.Store, a Actor) *Recorder {
	return &Recorder{Store: st, actor: a, seen: map[store.Key]store.Record{}, events: map[string]*entry{}}
}

// Get implements [store.Store].
func (s *Recorder) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	rs, err := s.Store.Get(ctx, keys)
	for _, r := range rs {
		s.seen[r.Key] = r
	}
	return rs, err
}

// Swap implements [store.Store].
func (s *Recorder) Swap(ctx context.Context, writes []store.Write) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if errs[i] = s.begin(ctx, w.New); errs[i] == nil {
			errs[i] = s.Store.Swap(ctx, writes[i:i+1])[0]
			s.note(w.New, errs[i])
		}
	}
	return errs
}

// begin writes the event of a change that comes next, if there is none yet.
func (s *Recorder) begin(ctx context.Context, r store.Record) error {
	e, was := s.events[r.Namespace], s.seen[r.Key]
	was.Key = r.Key
	if e != nil {
		if _, ok := e.after[r.Key]; !ok {
			e.before[r.Key] = was
		}
		e.touch(r.Key)
		return nil
	}
	e = &entry{
		Event: newEvent(ctx, s.Store, s.actor, r.Namespace), before: map[store.Key]store.Record{r.Key: was},
		after: map[store.Key]store.Record{},
	}
	e.touch(r.Key)
	e.Changes = s.changes(ctx, e, map[store.Key]store.Record{r.Key: r})
	begun := proto.CloneOf(e.Event)
	err := edit(ctx, s.Store, r.Namespace, func(list []*pb.Event) []*pb.Event { return append(list, begun) })
	if err != nil {
		return fmt.Errorf("writing the event of the change, without which nothing is done: %w", err)
	}
	s.events[r.Namespace] = e
	return nil
}

// touch says which node an event is about.
func (e *entry) touch(k store.Key) {
	if k.Node >= 0 {
		e.Node = &k.Node
	}
}

// note keeps what a change did.
func (s *Recorder) note(r store.Record, err error) {
	e := s.events[r.Namespace]
	switch {
	case err == nil:
		e.after[r.Key], s.seen[r.Key], e.changed, e.doubt = r, r, true, false
	case !errors.Is(err, store.ErrLost):
		e.doubt = true
	}
}

// End writes what was changed, and returns the events. After an error, or if it is not called, the
// events say that they are not done.
func (s *Recorder) End(ctx context.Context) (list []*pb.Event, err error) {
	for _, subject := range slices.Sorted(maps.Keys(s.events)) {
		e := s.events[subject]
		if e.changed {
			e.Changes = s.changes(ctx, e, e.after)
		}
		e.Done = e.changed && !e.doubt
		nothing := !e.changed && !e.doubt // another process was faster
		if !nothing {
			list = append(list, e.Event)
		}
		end := func(list []*pb.Event) []*pb.Event {
			i := slices.IndexFunc(list, func(o *pb.Event) bool { return o.Id == e.Id })
			switch {
			case i < 0: // a hundred later ones
			case nothing:
				list = slices.Delete(list, i, i+1)
			default:
				list[i] = e.Event
			}
			return list
		}
		err = errors.Join(err, edit(ctx, s.Store, subject, end))
		if s.Copies != nil {
			err = errors.Join(err, edit(ctx, s.Copies, subject, end))
		}
	}
	clear(s.events)
	return list, err
}
