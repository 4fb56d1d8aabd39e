package trail

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
	"google.golang.org/protobuf/proto"
)

// longestValue is how many bytes of a value an event keeps.
const longestValue = 300

// changes returns the fields that differ between the records of an event before and after.
func (s *Recorder) changes(ctx context.Context, e *entry, after map[store.Key]store.Record) (list []*pb.Change) {
	keys := slices.SortedFunc(maps.Keys(after), func(a, b store.Key) int { return cmp.Compare(a.Node, b.Node) })
	for _, k := range keys {
		was, is := s.fields(ctx, k, e.before), s.fields(ctx, k, after)
		both := maps.Clone(was)
		maps.Copy(both, is)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			if was[name] != is[name] {
				list = append(list, &pb.Change{Field: name, Before: clip(was[name]), After: clip(is[name])})
			}
		}
	}
	return list
}

func clip(text string) string {
	if len(text) <= longestValue {
		return text
	}
	return strings.ToValidUTF8(text[:longestValue], "") + "…"
}

// fields returns what callers see of a record, by its names in the protocol.
func (s *Recorder) fields(ctx context.Context, k store.Key, records map[store.Key]store.Record) map[string]string {
	then := moment{s.Store, records, s.seen}
	var m proto.Message
	err := error(nil)
	name, isSequence := strings.CutPrefix(k.Namespace, "#")
	switch {
	case records[k].Nonce == "":
		return map[string]string{}
	case isSequence && k.Node == store.SequenceNode:
		var i sequence.Info
		if i, err = sequence.Show(ctx, then, name); err == nil {
			m = view.Sequence(i)
		}
	case !isSequence && (k.Node >= 0 || k.Node == store.NamespaceNode):
		var ns lease.Namespace
		switch ns, err = lease.Namespaces(then).Show(ctx, name); {
		case err != nil:
		case k.Node == store.NamespaceNode:
			m, err = view.Namespace(ns)
		default:
			l := view.Lease(records[k], ns, ns.Layout, time.Now())
			l.Written = nil // it always differs
			m = l
		}
	}
	out := map[string]string{}
	if err != nil || m == nil { // what cannot be read has no fields
		return out
	}
	text, err := view.JSON(m)
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &all) != nil {
		return out
	}
	for name, v := range all {
		one := string(v)
		if json.Unmarshal(v, &one) != nil {
			one = string(v)
		}
		if one != "null" && one != "[]" && name != "name" && name != "node" {
			out[name] = one
		}
	}
	return out
}

// moment is a store as it was at a time, as far as its records are known.
type moment struct {
	store.Store
	records, others map[store.Key]store.Record
}

// Get implements [store.Store].
func (m moment) Get(_ context.Context, keys []store.Key) ([]store.Record, error) {
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		r, ok := m.records[k]
		if !ok {
			r = m.others[k]
		}
		r.Key = k
		out[i] = r
	}
	return out, nil
}
