package sonyflake

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

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
