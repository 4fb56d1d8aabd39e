package lease

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

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
