package server

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func TestLatencyBucketsHoldTheirDurations(t *testing.T) {
	for d := latencyUnit; d < 60*time.Second; d += d/7 + 1 {
		b := latencyBucket(d)
		if edge := LatencyEdge(b); d > edge {
			t.Fatalf("%v is in bucket %d, which ends at %v", d, b, edge)
		}
		if b > 0 && LatencyEdge(b-1) > d {
			t.Fatalf("%v is in bucket %d, and the one before ends at %v", d, b, LatencyEdge(b-1))
		}
	}
	if latencyBucket(time.Hour) != latencyBuckets-1 || latencyBucket(math.MaxInt64) != latencyBuckets-1 ||
		latencyBucket(-1) != 0 {
		t.Error("the ends have no bucket")
	}
}

func TestLatencyCounts(t *testing.T) {
	var l Latency
	l.Add(3, time.Millisecond)
	before := l.Counts()
	l.Add(2, time.Second)
	c := l.Counts().Since(before)
	if c.N() != 2 || c.Total != 2*time.Second || before.N() != 3 || before.Total != 3*time.Millisecond {
		t.Errorf("%d took %v, and before that %d took %v", c.N(), c.Total, before.N(), before.Total)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	var c LatencyCounts
	if c.Quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	c.Buckets[latencyBucket(100*time.Microsecond)] = 98
	c.Buckets[latencyBucket(50*time.Millisecond)] = 2
	if q := c.Quantile(0.5); q < 100*time.Microsecond || q > 130*time.Microsecond {
		t.Errorf("median %v", q)
	}
	if q := c.Quantile(0.99); q < 50*time.Millisecond || q > 65*time.Millisecond {
		t.Errorf("99th percentile %v", q)
	}
}

func TestOldest(t *testing.T) {
	var l StoreLatency
	now := time.Now()
	if age := l.Oldest(now); age != 0 {
		t.Errorf("nothing is under way for %v", age)
	}
	older, younger := l.beginTrip(now.Add(-time.Minute)), l.beginTrip(now.Add(-time.Second))
	if age := l.Oldest(now); age != time.Minute {
		t.Errorf("the older one is under way for %v", age)
	}
	older()
	if age := l.Oldest(now); age != time.Second {
		t.Errorf("the younger one is under way for %v", age)
	}
	younger()
	if age := l.Oldest(now); age != 0 {
		t.Errorf("both ended, and one is under way for %v", age)
	}
}

// What is observed is a store like the one below.
func TestObservedStorePassesOn(t *testing.T) {
	storetest.Wrapper(t, func(st store.Store) store.Store {
		observed, _ := Observe(st, nil)
		return observed
	})
}

// brokenStore is a store that fails.
type brokenStore struct{ store.Store }

var errBroken = errors.New("dialing db.example with hunter2: refused")

func (brokenStore) Get(context.Context, []store.Key) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errBroken
}

func (brokenStore) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errBroken
}

func (brokenStore) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errBroken
}

func (brokenStore) Swap(context.Context, []store.Write, ...store.Key) ([]error, []store.Record, store.Reply) {
	return []error{store.ErrLost, errBroken, nil}, nil, store.Reply{}
}

// Each round trip is counted; a lost swap is no failure, and an error shows
// no password.
func TestObservedRoundTrips(t *testing.T) {
	for _, broken := range []bool{false, true} {
		var st store.Store = store.NewMemory()
		if broken {
			st = brokenStore{st}
		}
		st, l := Observe(st, func(text string) string { return strings.ReplaceAll(text, "hunter2", "…") })
		key := store.Key{Namespace: "a", Node: 1}
		defer func() {
			if age := l.Oldest(time.Now()); age != 0 {
				t.Errorf("all have ended, and one is under way for %v", age)
			}
		}()
		write := func(old, nonce string) store.Write {
			return store.Write{Old: old, New: store.Record{Key: key, Nonce: nonce}}
		}
		check := func(err error) {
			t.Helper()
			if broken != errors.Is(err, errBroken) || broken && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("broken %t: %v", broken, err)
			}
		}
		if broken {
			errs, _, _ := st.Swap(t.Context(), make([]store.Write, 3))
			if len(errs) != 3 || errs[0] != store.ErrLost || errs[2] != nil {
				t.Errorf("%v", errs)
			}
			check(errs[1])
		} else {
			_, first := store.Put(t.Context(), st, write("", "1"))
			if _, again := store.Put(t.Context(), st, write("", "2")); first != nil || again != store.ErrLost {
				t.Errorf("%v, %v", first, again)
			}
		}
		_, _, err := st.Get(t.Context(), []store.Key{key, key})
		check(err)
		_, _, err = st.List(t.Context(), "a", snowfence.NodeRange{Until: 6}, 5)
		check(err)
		_, _, err = st.Heads(t.Context())
		check(err)
		good, bad := int64(5), int64(0)
		if broken {
			good, bad = 0, 4
		}
		var failures int64
		l.Each(func(_ Op, _ LatencyCounts, failed int64) { failures += failed })
		if n := l.Counts().N(); n != good || failures != bad {
			t.Errorf("%d round trips and %d failures, want %d and %d", n, failures, good, bad)
		}
	}
}
