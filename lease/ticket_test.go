package lease

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
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
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	w := &ticketWorld{T: t, st: store.NewMemory(), scheme: s}
	if _, err := Namespaces(w.st).Create(t.Context(), "n", s, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *ticketWorld) options() *Options {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Options{
		TTL: 10 * time.Second, Label: "remote", Time: func() (time.Time, time.Duration) { return now, 0 },
	}
}

func (w *ticketWorld) acquire() ticket {
	w.Helper()
	t, err := acquired(w.Context(), w.st, "n", w.scheme, wire.Request{}, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// A ticket proves who holds a lease, so no log has it.
func TestTicketsAreNotPrinted(t *testing.T) {
	w := newTicketWorld(t)
	said := w.acquire()
	bare := said.bytes()
	a := said.lease(bare)
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
	if b, err := ReadTicket(bare); err != nil || b.Grant != a.Grant || b.Namespace != "n" || b.Label != "remote" {
		t.Errorf("%+v, %v", b, err)
	}
	more := said
	more.Nodes, more.Unit = 1, 2
	half := said
	half.Nodes = 0
	none := said
	none.Unit = 0
	unnamed := said
	unnamed.Namespace = "a b"
	old := append(wire.Ticket{ticketVersion + 1}, bare[1:]...)
	twice := append(wire.Ticket{bare[0], bare[1] | 0x80, 0}, bare[2:]...) // the node in a longer form
	for _, bad := range []wire.Ticket{
		nil, wire.Ticket("x"), wire.Ticket("{}"), append(bare[:len(bare):len(bare)], 0), more.bytes(), half.bytes(),
		none.bytes(), unnamed.bytes(), old, twice,
	} {
		if _, err := ReadTicket(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", []byte(bad), err)
		}
	}
	for n := range bare {
		if _, err := ReadTicket(bare[:n]); !errors.Is(err, ErrInvalid) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// Without a key no ticket is good, not even one that was signed without one.
func TestTicketWithoutAKey(t *testing.T) {
	said, err := parseTicket((&signer{mac: hmac.New(sha256.New, nil)}).sign(newTicketWorld(t).acquire()))
	if err != nil {
		t.Fatal(err)
	}
	if err := signerOf("").verify(said); !errors.Is(err, store.ErrLost) {
		t.Error(err)
	}
}

// Bytes are a ticket in one form, or none, and no bytes do harm.
func FuzzTicket(f *testing.F) {
	f.Add([]byte(signerOf("key").sign(ticket{
		Node: 5, Nodes: 4, Unit: 2, From: 7, Until: 1 << 40, TTL: time.Hour, Revision: 3, Generation: 2,
		Namespace: "n", Label: "x", Lessor: "a.b", Holder: "c", Nonce: "d",
	})))
	f.Add([]byte{ticketVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		said, err := parseTicket(b)
		if err == nil && (!bytes.Equal(said.bytes(), b) || said.Nodes < 1) || err != nil && said != (ticket{}) {
			t.Errorf("%q: %+v, %v", b, said, err)
		}
	})
}

// acquired is what a server acquires by a request with these options.
func acquired(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, r wire.Request, o *Options,
) (ticket, error) {
	if o != nil {
		r.TTL, r.Node, r.Guard, r.Within, r.Nodes, r.Label = o.TTL, o.Node, o.Guard, o.Within, o.Nodes, o.Label
	}
	return parsed(Serve(st, s, o).Acquire(ctx, namespace, r))
}

// parsed is the ticket of an answer.
func parsed(l wire.Lease, err error) (ticket, error) {
	if err != nil {
		return ticket{}, err
	}
	return parseTicket(l.Ticket)
}

func (t ticket) bytes() wire.Ticket { return t.appendTo(nil) }

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
