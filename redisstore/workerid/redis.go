package workerid

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

const (
	indexKey  = "IdGen:WorkerId:Index"  // where the original counts; we only read it
	keyPrefix = "IdGen:WorkerId:Value:" // of the key of a number
	held      = "Y"                     // its value; the original takes any other one for free
)

// gone is the expiry of a key that does not exist.
const gone = -2

// sight is what Redis said about a number.
type sight struct {
	now    int64     // its time, in milliseconds, not before …
	sent   time.Time // … this, when it was asked
	expiry int64     // when the key expires; gone: there is none
}

// at returns a time of Redis that is not before its real one at t.
func (s sight) at(t time.Time) int64 {
	return s.now + int64((t.Sub(s.sent)+time.Millisecond-1)/time.Millisecond)
}

// server is the Redis server, or a simulated one in tests.
type server interface {
	// readKeys reads the keys of numbers.
	readKeys(ctx context.Context, numbers []int64) ([]sight, error)

	// take makes the key of a number if there is none. After an error it
	// may be there.
	take(ctx context.Context, number, expiry int64) (bool, error)

	// move makes the key expire at another time if it expires at one of
	// those in ours.
	move(ctx context.Context, number, expiry int64, ours []int64) (sight, bool, error)

	// index reads the number that the original gave last; false if there is
	// none.
	index(ctx context.Context) (int64, bool, error)
}

//go:embed move.lua
var script string

// redis is the server behind a client.
type redis struct{ c rueidis.Client }

func key(number int64) string { return keyPrefix + strconv.FormatInt(number, 10) }

func (r redis) readKeys(ctx context.Context, numbers []int64) ([]sight, error) {
	sent := time.Now()
	cmds := make([]rueidis.Completed, len(numbers))
	for i, n := range numbers {
		cmds[i] = r.eval(n)
	}
	out := make([]sight, len(numbers))
	for i, res := range r.c.DoMulti(ctx, cmds...) {
		s, _, err := parse(res, sent)
		if err != nil {
			return nil, fmt.Errorf("workerid: reading %s: %w", key(numbers[i]), err)
		}
		out[i] = s
	}
	return out, nil
}

func (r redis) eval(number int64, times ...int64) rueidis.Completed {
	args := make([]string, len(times))
	for i, ms := range times {
		args[i] = strconv.FormatInt(ms, 10)
	}
	return r.c.B().Eval().Script(script).Numkeys(1).Key(key(number)).Arg(args...).Build()
}

func (r redis) take(ctx context.Context, number, expiry int64) (bool, error) {
	cmd := r.c.B().Set().Key(key(number)).Value(held).Nx().PxatMillisecondsTimestamp(expiry).Build()
	err := r.c.Do(ctx, cmd).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("workerid: setting %s: %w", key(number), err)
	}
	return true, nil
}

func (r redis) move(ctx context.Context, number, expiry int64, ours []int64) (sight, bool, error) {
	sent := time.Now()
	s, moved, err := parse(r.c.Do(ctx, r.eval(number, append([]int64{expiry}, ours...)...)), sent)
	if err != nil {
		return s, false, fmt.Errorf("workerid: renewing %s: %w", key(number), err)
	}
	return s, moved, nil
}

func (r redis) index(ctx context.Context) (int64, bool, error) {
	n, err := r.c.Do(ctx, r.c.B().Get().Key(indexKey).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("workerid: reading %s: %w", indexKey, err)
	}
	return n, true, nil
}

// parse reads the answer of the script: the time, when the key expires, and
// whether it was moved.
func parse(res rueidis.RedisResult, sent time.Time) (sight, bool, error) {
	a, err := res.AsIntSlice()
	if err != nil {
		return sight{}, false, err
	}
	if len(a) != 3 {
		return sight{}, false, errors.New("the answer of the script is too short")
	}
	return sight{now: a[0], sent: sent, expiry: a[1]}, a[2] == 1, nil
}
