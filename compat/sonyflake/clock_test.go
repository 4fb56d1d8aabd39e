package sonyflake

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
	"github.com/snowfence/snowfence/internal/tests"
)

// sony/sonyflake#39: a full time unit and a clock that steps back by eight
// hours make the original sleep for these hours, and everybody else wait
// for its lock.
func TestClockStepsBackByHours(t *testing.T) {
	var back atomic.Int64
	begin := time.Now()
	clock := func() (time.Time, time.Duration) {
		return time.Now().Add(-time.Duration(back.Load())), time.Since(begin)
	}
	st := Settings{StartTime: begin.Add(-72 * time.Hour), MachineID: func() (int, error) { return 1, nil }}
	sf := tests.Must(st.open(process.Options{From: 1, Time: clock}))
	var ids []int64
	for i := range 256 * 6 {
		if i == 256*3 {
			back.Store(int64(8 * time.Hour))
		}
		ids = append(ids, tests.Must(sf.NextID()))
	}
	tests.Increasing(t, ids)
	if at := sf.ToTime(ids[len(ids)-1]); at.Before(begin.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("the last ID says %v, made at %v", at, time.Now())
	}
}

func TestErrorsOfAddresses(t *testing.T) {
	system := &net.OpError{Op: "route", Net: "ip+net", Err: errors.New("no such device")}
	for _, test := range []struct{ found, want error }{
		{nil, nil},
		{errors.New("no address but loopback"), ErrNoPrivateAddress},
		{fmt.Errorf("the addresses cannot be read: %w", system), system},
	} {
		if got := addressError(test.found); got != test.want {
			t.Errorf("%v: %v, want %v", test.found, got, test.want)
		}
	}
}

// Compose of the zero Sonyflake divided by zero, and NextID said that its
// time was over.
func TestZeroSonyflake(t *testing.T) {
	var sf Sonyflake
	_, next := sf.NextID()
	_, waits := sf.NextIDContext(t.Context())
	_, composed := sf.Compose(time.Now(), 1, 1)
	for name, err := range map[string]error{"NextID": next, "NextIDContext": waits, "Compose": composed} {
		tests.WantErr(t, err, snowfence.ErrClosed, "%s", name)
	}
	if err := sf.Close(); err != nil || sf.ToTime(5).IsZero() || sf.Decompose(5)["id"] != 5 {
		t.Errorf("Close: %v; or ToTime or Decompose", err)
	}
}
