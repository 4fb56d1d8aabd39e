package ticket

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// claims are of a block of two units.
func claims() Claims {
	return Claims{
		Node: 5, Nodes: 4, Unit: 2, From: 7, Until: 1 << 40, TTL: time.Hour, Revision: 3, Generation: 2,
		Namespace: "n", Label: "x", Lessor: "a.b", Holder: "c", Nonce: "d",
	}
}

// What was signed is read as it was, and verified with that key alone.
func TestTicketIsReadAsItWasSigned(t *testing.T) {
	s := NewSigner("key")
	b := s.Sign(claims())
	c, err := Parse(b)
	if err != nil || s.Verify(c) != nil || NewSigner("key").Verify(c) != nil {
		t.Fatal(c, err, s.Verify(c))
	}
	want := claims()
	if want.MAC = c.MAC; c != want || !bytes.Equal(c.AppendTo(nil), b) {
		t.Errorf("%+v, want %+v", c, want)
	}
	single := claims()
	single.Nodes, single.Unit = 1, 1
	if c, err := Parse(s.Sign(single)); err != nil || c.Nodes != 1 {
		t.Errorf("a single node: %+v, %v", c, err)
	}
	grant := snowfence.Grant{Node: 5, From: 7, Until: 1 << 40, Nodes: 4}
	l := c.Lease(b)
	if l.Grant != grant || l.Namespace != "n" || l.Label != "x" || l.TTL != time.Hour || l.Lessor != "a.b" {
		t.Errorf("%+v", l)
	}
	for name, other := range map[string]*Signer{"another key": NewSigner("other"), "no key": NewSigner("")} {
		tests.WantErr(t, other.Verify(c), store.ErrLost, "%s", name)
	}
	c.Until++
	tests.WantErr(t, s.Verify(c), store.ErrLost, "another end")
}

// Bytes in another form are no ticket, though they have the same claims.
func TestDamagedForms(t *testing.T) {
	b := NewSigner("key").Sign(claims())
	change := func(do func(*Claims)) wire.Ticket {
		c := tests.Must(Parse(b))
		do(&c)
		return c.AppendTo(nil)
	}
	long := bytes.Repeat([]byte{0xff}, 20)
	bad := []wire.Ticket{
		nil, wire.Ticket("x"), wire.Ticket("{}"), append(slices.Clip(b), 0),
		change(func(c *Claims) { c.Nodes, c.Unit = 1, 2 }), change(func(c *Claims) { c.Nodes = 0 }),
		change(func(c *Claims) { c.Unit = 0 }), change(func(c *Claims) { c.Namespace = "a b" }),
		append(wire.Ticket{version + 1}, b[1:]...),
		append(wire.Ticket{b[0], b[1] | 0x80, 0}, b[2:]...), // the node in a longer form
		append([]byte{1}, long...), append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, long...),
	}
	for n := range b {
		bad = append(bad, b[:n])
	}
	for _, b := range bad {
		if c, err := Parse(b); err == nil || c != (Claims{}) {
			t.Errorf("%q: %+v, %v", []byte(b), c, err)
		}
	}
}

// Without a key no ticket is good, not even one that was signed without
// one.
func TestTicketWithoutAKey(t *testing.T) {
	c := tests.Must(Parse((&Signer{mac: hmac.New(sha256.New, nil)}).Sign(claims())))
	tests.WantErr(t, NewSigner("").Verify(c), store.ErrLost, "")
}

// Bytes are a ticket in one form, or none, and no bytes do harm.
func FuzzTicket(f *testing.F) {
	f.Add([]byte(NewSigner("key").Sign(claims())))
	f.Add([]byte{version})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err == nil && (!bytes.Equal(c.AppendTo(nil), b) || c.Nodes < 1) || err != nil && c != (Claims{}) {
			t.Errorf("%q: %+v, %v", b, c, err)
		}
	})
}
