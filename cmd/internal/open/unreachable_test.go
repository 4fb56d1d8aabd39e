package open

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

type sqlError string

func (e sqlError) Error() string    { return string(e) }
func (e sqlError) SQLState() string { return string(e) }

type redisError struct{ error }

func (redisError) IsLoading() bool     { return true }
func (redisError) IsClusterDown() bool { return false }

// A server waits for a store that is unreachable, and ends where waiting
// would not help.
func TestStoresToWaitFor(t *testing.T) {
	for want, list := range map[bool][]error{
		true: {
			&net.DNSError{IsNotFound: true}, errNoAnswer, sqlError("57P03"),
			sqlError("53300"), io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn,
			redisError{errors.New("LOADING")},
		},
		false: {
			errors.New("a standby"), sqlError("28P01"), ErrURL, context.Canceled, os.ErrPermission,
			&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")},
		},
	} {
		for _, err := range list {
			a := &address{scheme: "postgres"}
			if got := Unreachable(fmt.Errorf("trying: %w", a.wrapError(err))); got != want {
				t.Errorf("%v: %v", err, got)
			}
		}
	}
}

// How many connections a server of another kind has is not known.
func TestConnections(t *testing.T) {
	for url, want := range map[string]int{
		"postgres://h/d": 8, "mariadb://h/d?connections=3": 3, "redis://h": 0, "sqlite:x.db": 0, "mysql:h": 0, "": 0,
	} {
		if got := Connections(url); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
}
