// Package world is what leases and generators need of the machine besides
// clocks and memory: time to pace by, random numbers, goroutines, waiting,
// and whether it was copied. A simulation replaces it, and runs the real
// code in virtual time from one seed. Only this module can.
package world

import (
	"context"
	mrand "math/rand/v2"
	"time"
)

// World is the only source of time, random numbers and goroutines, so that
// a run can be repeated. The methods are safe for concurrent use.
type World interface {
	// Now is the time for pacing work: its differences never go back. Its
	// date may go back, and decides for dated sequences.
	Now() time.Time

	// Uint64 returns 64 random bits for choices that nothing depends on.
	Uint64() uint64

	// Text returns a random text of at least 128 bits, another one in each
	// copy of the machine.
	Text() string
	// Machine returns the machine as it is now, to learn whether it was
	// copied since.
	Machine() Machine

	// Go runs f in a goroutine of its own.
	Go(f func())

	// Wait waits for one of at most three channels, receives from it and
	// returns its index, or −1 when d is over. A negative d waits for ever.
	// Nil channels are never ready.
	Wait(d time.Duration, chans ...<-chan struct{}) int

	// WithTimeout is [context.WithTimeout].
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// Real is the world of ordinary programs.
func Real() World { return realWorld{} }

type realWorld struct{}

func (realWorld) Now() time.Time { return time.Now() }
func (realWorld) Uint64() uint64 { return mrand.Uint64() }
func (realWorld) Text() string   { return fresh() }
func (realWorld) Go(f func())    { go f() }

func (realWorld) Machine() Machine { return At(thisMachine()) }

func (realWorld) Wait(d time.Duration, chans ...<-chan struct{}) int {
	var timeout <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	var c [3]<-chan struct{}
	copy(c[:], chans)
	select {
	case <-c[0]:
		return 0
	case <-c[1]:
		return 1
	case <-c[2]:
		return 2
	case <-timeout:
		return -1
	}
}

func (realWorld) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

type key struct{}

// With returns a ctx for calls in w.
func With(ctx context.Context, w World) context.Context {
	if _, ok := w.(realWorld); ok {
		return ctx
	}
	return context.WithValue(ctx, key{}, w)
}

// From returns the world of a ctx: the real one, or the one of [With].
func From(ctx context.Context) World {
	if w, ok := ctx.Value(key{}).(World); ok {
		return w
	}
	return realWorld{}
}

// Rand returns a source for math/rand/v2, safe for concurrent use.
func Rand(w World) *mrand.Rand { return mrand.New(w) }

// Jitter returns how long to wait after a swap that was lost, so that not
// all come at once again.
func Jitter(w World, attempt int) time.Duration {
	return time.Duration(w.Uint64() % uint64(250*time.Microsecond<<min(attempt, 6)))
}
