package lease_test

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
)

func TestAfterRollbackHasTheDefaultsOfALease(t *testing.T) {
	for _, c := range []struct {
		o    *lease.Options
		want time.Duration
	}{
		{nil, 45 * time.Second},
		{&lease.Options{}, 45 * time.Second},
		{&lease.Options{TTL: time.Second}, 3 * time.Second},
		{&lease.Options{MaxSkew: time.Second}, 17 * time.Second},
		{&lease.Options{TTL: time.Minute, MaxSkew: time.Second}, 62 * time.Second},
	} {
		if got := c.o.AfterRollback(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}
