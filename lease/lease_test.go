package lease_test

import (
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/leasetest"
)

func TestMemory(t *testing.T) {
	leasetest.Run(t, func(*testing.T) lease.Store { return lease.NewMemory() })
}
