package claim

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/wire"
)

// clerk is a server that grants, and counts its calls.
type clerk struct {
	calls int
	grant snowfence.Grant // of each answer
}

func (k *clerk) answer() (wire.Lease, error) {
	k.calls++
	return wire.Lease{Ticket: wire.Ticket("ticket"), Grant: k.grant}, nil
}

func (k *clerk) Acquire(context.Context, string, wire.Request) (wire.Lease, error) { return k.answer() }

func (k *clerk) Renew(context.Context, wire.Ticket, string, []string) (wire.Lease, error) {
	return k.answer()
}

func (k *clerk) Release(context.Context, wire.Ticket, int64) error {
	_, err := k.answer()
	return err
}

// served returns a claim over a clerk; with held, it has ticks 10 to 100 of
// node 5.
func served(t *testing.T, held bool) (*guestClaim, *clerk) {
	t.Helper()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	n := must(Settings{Label: "me", Clock: ClockOf(nil, s), Logger: quiet}.Normal(s))
	k := &clerk{grant: snowfence.Grant{Node: 5, From: 10, Until: 100, Nodes: 1}}
	c := &guestClaim{Setup: NewSetup(world.Real(), "n", s, n, nil), server: k}
	if held {
		c.ticket, c.grant = []byte("0"), k.grant
	}
	return c, k
}

func TestNamesOfKeptNodes(t *testing.T) {
	for node, want := range map[int64]string{-1: "a node", 0: "node 0"} {
		if got := (&Kept{Node: node}).String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A grant that has no tick yet begins ahead of the clock, and is the
// holder's all the same.
func TestServedGrantWithoutTicks(t *testing.T) {
	c := &guestClaim{Setup: &Setup{Name: "n", Settings: Settings{Nodes: 1}}}
	a := wire.Lease{Ticket: wire.Ticket("{}"), Grant: snowfence.Grant{Node: 3, Nodes: 1, From: 9, Until: 9}}
	if err := c.takeOver(a); err != nil || c.grant != a.Grant {
		t.Errorf("%+v, %v", c.grant, err)
	}
}

// A clock that agrees with the server's is left as it is.
func TestClockThatAgreesIsNotCorrected(t *testing.T) {
	c, _ := served(t, false)
	c.MaxSkew = time.Minute
	before := c.Clock.Corrections()
	if err := c.skew(c.Now(), c.Now()); err != nil || c.Clock.Corrections() != before {
		t.Errorf("%v, and %d corrections", err, c.Clock.Corrections()-before)
	}
}
