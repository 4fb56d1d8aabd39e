package rpc

import (
	"cmp"
	"context"
	"net/http"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

// rpc implements those methods of the definition that do more than call the
// service.
type rpc struct {
	s      *server.Service
	who    server.Identify
	errors *connect.ErrorWriter // of what is refused before it is read
	others *http.Client         // to pass renewals on
}

// ids and leases tell methods of the same name apart.
type (
	ids    struct{ *rpc }
	leases struct{ *rpc }
)

// callKey is where a call keeps its [call].
type callKey struct{}

// call has the facts of a call beside its message.
type call struct {
	unary bool
	text  bool // the answer is JSON
	body  body
}

// authorize checks the caller's right in a namespace; its default name is
// "default". The request counts as n IDs.
func authorize(ctx context.Context, v server.Verb, namespace string, n int64) (string, *server.Identity, error) {
	id := server.CallerOf(ctx).Identity
	namespace = cmp.Or(namespace, lease.DefaultNamespace)
	return namespace, id, id.Authorize(v, namespace, n)
}
