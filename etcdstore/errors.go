package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/snowfence/snowfence/lease/store"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fewest is the least number of operations in a transaction that the store
// needs.
const fewest = opsAlone

// lowerLimit reports whether a server refused a transaction for its length,
// so that nothing was done. It lowers the limit to the next lower power of
// two, which concurrent refusals do not lower further.
func (s *Store) lowerLimit(err error, ops int) bool {
	switch {
	case errors.Is(err, rpctypes.ErrTooManyOps) && ops > fewest:
		lower := int64(max(fewest, 1<<(bits.Len(uint(ops-1))-1)))
		for limit := s.limit.Load(); limit > lower && !s.limit.CompareAndSwap(limit, lower); {
			limit = s.limit.Load()
		}
		return true
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return true
	}
	return false
}

// isTransient reports whether an error may pass by itself.
func isTransient(err error) bool {
	return grpcCode(err) == codes.Unavailable
}

// grpcCode returns the status of an error of the client; OK if it is none.
func grpcCode(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	var coded interface{ GRPCStatus() *status.Status }
	if errors.As(err, &coded) {
		return coded.GRPCStatus().Code()
	}
	return codes.OK
}

// adviseOn puts what to do before an error, if known.
func (s *Store) adviseOn(err error) error {
	text := ""
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		text = "the database has reached its limit, and etcd refuses writes: compact it (etcdctl compact --physical " +
			"REVISION, which etcdctl endpoint status -w json shows), etcdctl defrag on each member, then " +
			"etcdctl alarm disarm;" +
			" and start etcd with --auto-compaction-retention=5m, and with a larger --quota-backend-bytes if need be"
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		text = fmt.Sprintf("the user may not read or write the keys that begin with %q: etcdctl role "+
			"grant-permission ROLE readwrite --prefix=true %s", string(s.keys), s.keys)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		text = "the cluster wants a user and a password: give them to the client"
	case errors.Is(err, rpctypes.ErrAuthFailed):
		text = "the cluster does not know the user, or the password is wrong"
	case errors.Is(err, rpctypes.ErrTooManyOps):
		text = fmt.Sprintf("the server allows fewer than %d operations in a transaction: raise --max-txn-ops", fewest)
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		text = "a record is too large for the server: raise --max-request-bytes, or shorten the label"
	case errors.Is(err, rpctypes.ErrCorrupt):
		text = "members of the cluster differ, and etcd refuses writes: replace the one that is wrong (etcdctl " +
			"alarm list names it), then etcdctl alarm disarm"
	case errors.Is(err, rpctypes.ErrNoLeader):
		text = "the member has no leader: a majority of the cluster is unreachable"
	case errors.Is(err, context.DeadlineExceeded), grpcCode(err) == codes.DeadlineExceeded:
		text = fmt.Sprintf("no answer within %v (Options.Timeout) or the time the caller gave: the members are "+
			"not reached, or a majority of the cluster is unreachable", s.timeout)
	case grpcCode(err) == codes.Unavailable:
		text = "no member answers, or they are choosing a leader"
	}
	where := "etcdstore"
	if text != "" {
		where += ": " + text
	}
	return &store.Failure{Err: err, Text: where + ": " + err.Error(), Public: where}
}
