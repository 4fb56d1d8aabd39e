package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease/store"
)

// Options say how a Service works. The zero value is good for most.
type Options struct {
	// Block is how many contiguous nodes the server leases in each
	// namespace it makes IDs for, a power of two. 0 means a 64th of those
	// that can be leased, at most 16, and fewer where leases of others
	// leave no block of that length.
	Block int

	// Within narrows the nodes that the server leases, as nodes.Within
	// reads it. A layout without its part keeps all.
	Within string

	// Lead is how many ticks IDs may run ahead of the clock in a burst.
	Lead int64

	// Spread is the spread of the generator, by namespace: see
	// [snowfence.Config].
	Spread map[string]int64

	// TTL is the ttl of the server's own leases; 0 means 15 s.
	TTL time.Duration

	// MaxWait is how long a request waits for the clock or a grant; 0 means
	// a second.
	MaxWait time.Duration

	// Label is what people see as the holder of the server's nodes; ""
	// means the host's name.
	Label string

	// Advertise is the URL at which other servers reach this one; "" means
	// that they do not.
	Advertise string

	// PublicKey returns what [KeyOf] says of the certificate that the
	// service answers with; "" where it has none. Nil means the same.
	PublicKey func() string

	// Version is the program's, for the list of servers.
	Version string

	// Keys returns the secrets of an encrypted namespace, oldest first. Nil
	// means that there are none.
	Keys func(namespace string) ([]*snowfence.Secret, error)

	// HandOut gives the secrets of encrypted namespaces to holders of
	// leases in them. Otherwise only the server makes and decodes their
	// IDs.
	HandOut bool

	// Spaces bounds how many namespaces are kept open; 0 means 1000. Beyond
	// it, requests for others fail.
	Spaces int

	// Sequences bounds how many sequences are kept open; 0 means 10,000.
	// Beyond it, a sequence that was unused for a minute is closed for
	// another.
	Sequences int

	// Direct is the store without store.Group, for sequences: leases of the
	// same round trip would wait for a row that another transaction has
	// locked. Nil means the store.
	Direct store.Store

	// Unit leases the units of an agent, which hands out their nodes and no
	// others. Its store has only the namespace. Nil is for servers, which
	// lease from the store.
	Unit lessor.Open

	// Connections is how many calls Direct carries out at a time; 0 means
	// as many as there are. Sequences leave some of them to leases.
	Connections int

	// Logger is told what happens; nil means silence.
	Logger *slog.Logger
}

// withDefaults returns the options with their defaults.
func (o Options) withDefaults() Options {
	o.Spaces = cmp.Or(o.Spaces, 1000)
	o.Sequences = cmp.Or(o.Sequences, 10_000)
	o.MaxWait = cmp.Or(o.MaxWait, time.Second)
	if o.PublicKey == nil {
		o.PublicKey = func() string { return "" }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Label == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown" // only a label
		}
		o.Label = fmt.Sprintf("server %s/%d", host[:min(len(host), 80)], os.Getpid())
	}
	return o
}
