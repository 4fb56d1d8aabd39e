package view

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// A record from before a change of layout counts ticks of the old one, in
// which it would be held.
func TestLeaseOfAnEarlierLayout(t *testing.T) {
	l := snowfence.MustLayout("twitter")
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	floor := l.TickOf(now.Add(-time.Minute))
	ns := scope.Namespace{Terms: scope.Terms{Layout: l, Since: 2, Floor: floor}}
	r := store.Record{Generation: 1, Nonce: "n", Holder: "h", Until: l.TickOf(now.Add(time.Hour))}
	if got := Lease(r, ns, l, now); got.Held || got.Until != floor {
		t.Errorf("%v", got)
	}
	r.Generation = 2
	if got := Lease(r, ns, l, now); !got.Held || got.Until != r.Until {
		t.Errorf("of the present layout: %v", got)
	}
}

// JSON has the names of the protocol, each number and text even if it is 0
// or "", and numbers of 64 bits as texts; what is read has no other names.
func TestJSON(t *testing.T) {
	got, err := JSON(&pb.CreateNamespaceRequest{Name: "orders", FirstNode: new(int64(1<<60 + 1))})
	if want := `{"name":"orders","layout":"","first_node":"1152921504606846977","unit":"0"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	var m pb.CreateNamespaceRequest
	if err := Read(got, &m); err != nil || m.GetFirstNode() != 1<<60+1 {
		t.Errorf("%v, %v", &m, err)
	}
	if err := Read([]byte(`{"nodes":5}`), &m); err == nil || err.Error() != `(line 1:2): unknown field "nodes"` {
		t.Errorf("%v", err)
	}
}

// The highest number in anybody's hands is the number before the next one.
// At the end it is the last number that the steps reach.
func TestLastNumber(t *testing.T) {
	for want, i := range map[string]sequence.Info{
		"":                    {Next: 1, Left: 10, Definition: definition(1, 1, 10)},
		"4":                   {Next: 7, Left: 2, Definition: definition(1, 3, 12)},
		"10":                  {Left: 0, Definition: definition(1, 3, 12)},
		"-999":                {Left: 0, Definition: definition(-1, -2, -1000)},
		"9223372036854775804": {Left: 0, Definition: definition(-1<<63, 4, 1<<63-1)},
	} {
		if got := Sequence(i).LastNumber; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func definition(start, step, last int64) sequence.Definition {
	return sequence.Definition{Start: &start, Step: step, Max: &last}
}
