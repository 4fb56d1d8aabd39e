package open

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
)

var errNoAnswer = errors.New("it does not answer: is it running, and can it be reached from here? (connect_timeout)")

// Unreachable reports whether Open failed because the store does not run,
// or cannot be reached: to try again helps. A password, a right or a
// setting that is wrong stays wrong.
func Unreachable(err error) bool {
	var state interface{ SQLState() string } // of PostgreSQL
	var redis interface {
		IsLoading() bool
		IsClusterDown() bool
	}
	switch {
	case errors.As(err, &state): // it starts, stops, or has too many clients
		return slices.Contains([]string{"57P01", "57P02", "57P03", "53300"}, state.SQLState())
	case errors.As(err, &redis):
		return redis.IsLoading() || redis.IsClusterDown()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errNoAnswer):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, driver.ErrBadConn):
		return true // what is before the store, such as a proxy, hung up
	case errors.As(err, new(*net.DNSError)): // a name may come with its server, as in a cluster
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && slices.Contains([]string{"dial", "read", "write"}, op.Op)
}
