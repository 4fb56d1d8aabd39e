package lease

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// ticketWorld is a memory store with a namespace, and a clock that stands
// still.
type ticketWorld struct {
	*testing.T
	st     *store.Memory
	scheme *snowfence.Scheme
}

func newTicketWorld(t *testing.T) *ticketWorld {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	w := &ticketWorld{T: t, st: store.NewMemory(), scheme: s}
	must(scope.Namespaces(w.st).Create(t.Context(), "n", s, nil))
	return w
}

func (w *ticketWorld) options() *Options {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Options{TTL: 10 * time.Second, Label: "remote", Time: func() (time.Time, time.Duration) { return now, 0 }}
}

func (w *ticketWorld) acquire() ticket.Claims {
	w.Helper()
	t := must(acquired(w.Context(), w.st, "n", w.scheme, wire.Request{}, w.options()))
	return t
}

// A ticket proves who holds a lease, so no log has it.
func TestTicketsAreNotPrinted(t *testing.T) {
	w := newTicketWorld(t)
	said := w.acquire()
	bare := bytesOf(said)
	a := said.Lease(bare)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "ticket", a, "bare", bare)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ticket", a, "pointer", &a, "bare", bare)
	text := fmt.Sprintf("%v %+v %#v %v %s %x %#v", a, a, a, &a, bare, bare, bare) + log.String()
	for _, secret := range []string{
		said.MAC, said.Nonce, said.Holder, string(bare),
		base64.StdEncoding.EncodeToString(bare),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s", text, secret)
		}
	}
	wantErr(t, errOf(ReadTicket(bare[1:])), ErrInvalid, "a part of a ticket")
	if b, err := ReadTicket(bare); err != nil || b.Grant != a.Grant || b.Namespace != "n" || b.Label != "remote" {
		t.Errorf("%+v, %v", b, err)
	}
}

// acquired is what a server acquires by a request with these options.
func acquired(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, r wire.Request, o *Options,
) (ticket.Claims, error) {
	if o != nil {
		r.TTL, r.Node, r.Guard, r.Within, r.Nodes, r.Label = o.TTL, o.Node, o.Guard, o.Within, o.Nodes, o.Label
	}
	return parsed(Serve(st, s, o).Acquire(ctx, namespace, r))
}

// parsed is the ticket of an answer.
func parsed(l wire.Lease, err error) (ticket.Claims, error) {
	if err != nil {
		return ticket.Claims{}, err
	}
	return ticket.Parse(l.Ticket)
}

// bytesOf are the bytes of a ticket with the MAC that its claims have.
func bytesOf(t ticket.Claims) wire.Ticket { return t.AppendTo(nil) }

// An attempt is of 16 to 32 letters, digits, '-' and '_'.
func TestAttemptsThatArePossible(t *testing.T) {
	w := newTicketWorld(t)
	for attempt, ok := range map[string]bool{
		"abcdefghijklmno":                   false,
		"abcdefghijklmnop":                  true,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_0189":  true,
		"abcdefghijklmnopqrstuvwxyz0123456": false,
		"abcdefgh.ijklmnop":                 false,
		"abcdefgh ijklmnop":                 false,
		"abcdefghäijklmnop":                 false,
		"abcdefgh\xffijklmnop":              false,
		".abcdefghijklmnop":                 false,
		"abcdefghijklmnop\x00":              false,
	} {
		_, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Attempt: attempt}, w.options())
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", attempt, err)
		}
	}
}
