// Package trail keeps in a store what people did to its namespaces and sequences: who, when, from
// where, why, and what was changed. Servers and the program write it, and show it as events.
package trail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The record of a namespace or sequence keeps this much, and the oldest events go.
const (
	maxEvents = 100
	maxBytes  = 50_000 // a record has at most 60,000
)

// LongestReason is how many bytes a reason has at most.
const LongestReason = 1000

// Actor is a person or program that manages.
type Actor struct {
	Action string // as a command: "namespace change"
	Who    string // name of the token, subject of the certificate, or USER@HOST
	From   string // address or host
	Reason string // "" if none was given
}

// CheckReason refuses a reason that no event can keep.
func CheckReason(text string) error {
	switch {
	case len(text) > LongestReason:
		return fmt.Errorf("the reason has %d bytes: say it in %d at most", len(text), LongestReason)
	case !store.Plain(text):
		return fmt.Errorf("the reason %.100q is not UTF-8, or has control characters: leave them out", text)
	}
	return nil
}

// edit changes the events of a namespace, or of a sequence with a # before its name.
func edit(ctx context.Context, st store.Store, subject string, change func([]*pb.Event) []*pb.Event) error {
	key := store.Key{Namespace: subject, Node: store.EventsNode}
	for {
		rs, err := st.Get(ctx, []store.Key{key})
		if err != nil {
			return fmt.Errorf("reading the events of %q: %w", subject, err)
		}
		r, list := rs[0], change(decode(rs[0]))
		for list = list[max(0, len(list)-maxEvents):]; ; list = list[1:] {
			text, err := view.JSON(&pb.ListEventsResponse{Events: list})
			if err != nil {
				return err
			}
			if r.Data = string(text); len(text) <= maxBytes {
				break
			}
		}
		r.Nonce, r.Revision, r.At = rand.Text(), r.Revision+1, time.Now().UnixMilli()
		err = st.Swap(ctx, []store.Write{{Old: rs[0].Nonce, New: r}})[0]
		if err == nil || !errors.Is(err, store.ErrLost) {
			return err
		}
	}
}

// decode returns the events of a record. What a person damaged in the store begins anew.
func decode(r store.Record) []*pb.Event {
	m := new(pb.ListEventsResponse)
	if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(r.Data), m) != nil {
		return nil
	}
	return m.Events
}

// newEvent returns an event of the present, by the clock of the store if it has one.
func newEvent(ctx context.Context, st store.Store, a Actor, subject string) *pb.Event {
	now, err := st.Now(ctx)
	if err != nil || now.IsZero() {
		now = time.Now()
	}
	e := &pb.Event{
		Id: rand.Text(), At: timestamppb.New(now), Action: a.Action, Who: a.Who, From: a.From, Reason: a.Reason,
	}
	if name, ok := strings.CutPrefix(subject, "#"); ok && subject != store.Servers {
		e.Sequence = name
	} else if !ok {
		e.Namespace = subject
	}
	return e
}

// Add writes down what is no change of a namespace or sequence.
func Add(ctx context.Context, st store.Store, a Actor, changes []*pb.Change) error {
	e := newEvent(ctx, st, a, store.Servers)
	e.Changes, e.Done = changes, true
	return edit(ctx, st, store.Servers, func(list []*pb.Event) []*pb.Event { return append(list, e) })
}

// maxListed is how many events a list has, and pageOfTrails how many records are read at a time.
const (
	maxListed    = 1000
	pageOfTrails = 64
)

// List returns the latest events of the namespace and the sequence of a name, or of all if it is
// "", as far as sees allows, in their order. Those of the whole store have neither name.
func List(ctx context.Context, st store.Store, subject string, sees func(*pb.Event) bool) ([]*pb.Event, error) {
	subjects := []string{subject, "#" + subject}
	if subject == "" {
		heads, err := st.Heads(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing namespaces and sequences: %w", err)
		}
		subjects = []string{store.Servers}
		for _, r := range heads {
			subjects = append(subjects, r.Namespace)
		}
	}
	var out []*pb.Event
	for some := range slices.Chunk(subjects, pageOfTrails) {
		var keys []store.Key
		for _, name := range some {
			keys = append(keys, store.Key{Namespace: name, Node: store.EventsNode})
		}
		rs, err := st.Get(ctx, keys)
		if err != nil {
			return nil, fmt.Errorf("reading events: %w", err)
		}
		for _, r := range rs {
			for _, e := range decode(r) {
				if sees(e) {
					out = append(out, e)
				}
			}
		}
		slices.SortStableFunc(out, func(a, b *pb.Event) int { return a.At.AsTime().Compare(b.At.AsTime()) })
		out = out[max(0, len(out)-maxListed):]
	}
	return out, nil
}
