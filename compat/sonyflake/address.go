package sonyflake

import (
	"context"

	"github.com/snowfence/snowfence/nodes"
)

// privateAddress is the machine ID of those who give none.
func privateAddress() (int, error) {
	n, err := nodes.FromIPv4(16).Number(context.Background())
	if err != nil {
		return 0, ErrNoPrivateAddress
	}
	return int(n), nil
}
