package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/wire"
)

// What a server cannot read it calls damaged, and asks the store nothing
// with it.
func TestDamagedTickets(t *testing.T) {
	w := newTicketWorld(t)
	v := Serve(w.st, w.scheme, w.options())
	_, lost := v.Acquire(t.Context(), "n", wire.Request{Attempt: rand.Text(), Lost: wire.Ticket("{")})
	for name, err := range map[string]error{"released": v.Release(t.Context(), wire.Ticket("{"), 0), "lost": lost} {
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "the ticket is damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server without a scheme is an error of each call, and no panic.
func TestServerWithoutAScheme(t *testing.T) {
	w := newTicketWorld(t)
	fails(t, errOf(Serve(w.st, nil, nil).Acquire(t.Context(), "n", wire.Request{Attempt: rand.Text()})), "it leased")
}

// Who does not wait is told at once that all nodes are taken.
func TestTakenNodesAreNotWaitedFor(t *testing.T) {
	w := newTicketWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	o := &Options{Within: snowfence.NodeRange{Until: 1}}
	first := must(Open(ctx, w.st, "n", w.scheme, o))
	defer first.Orphan()
	if _, err := Open(ctx, w.st, "n", w.scheme, o); !errors.Is(err, ErrTaken) || ctx.Err() != nil {
		t.Errorf("%v, and the context: %v", err, ctx.Err())
	}
}
