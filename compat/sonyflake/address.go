package sonyflake

import (
	"context"
	"errors"
	"net"

	"github.com/snowfence/snowfence/nodes"
)

// privateAddress is the machine ID by default.
func privateAddress() (int, error) {
	n, err := nodes.FromIPv4(16).Number(context.Background())
	return int(n), addressError(err)
}

// addressError returns the error of the original, or the system's if the
// system does not list its addresses.
func addressError(err error) error {
	var system *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &system):
		return system
	}
	return ErrNoPrivateAddress
}
