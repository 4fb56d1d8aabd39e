//go:build unix

package redis

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

const namespace = "ids"

// newFleet returns a fleet over a store, in a namespace that it makes.
func newFleet(t testing.TB, st store.Store) *shared.Fleet {
	t.Helper()
	f := shared.New(t, func(string) store.Store { return st })
	f.Namespace("")
	return f
}

// short bounds a call to a store that is hurt.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
