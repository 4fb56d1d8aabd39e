package server

import (
	"math"
	"testing"
	"time"
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
