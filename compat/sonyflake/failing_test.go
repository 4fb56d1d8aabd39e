package sonyflake_test

import (
	"context"
	"errors"
	"sync"

	"github.com/snowfence/snowfence"
)

var errGone = errors.New("the database is gone")

// failing is a fence that can lose its grant, and has it back later.
type failing struct {
	snowfence.Fence

	mu   sync.Mutex
	gone bool
	seal func() int64
	used int64
}

func (f *failing) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seal = seal
	return func() {}, nil
}

func (f *failing) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone, f.used = true, f.seal()
}

func (f *failing) found() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = false
}

func (f *failing) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return snowfence.Grant{}, errGone
	}
	gr, err := f.Fence.Grant(ctx, after)
	gr.From = f.used
	return gr, err
}

func (f *failing) Held(after int64) (snowfence.Grant, bool) {
	gr, err := f.Grant(context.Background(), after)
	return gr, err == nil
}
