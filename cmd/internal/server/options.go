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

// Options say how a Service works. The zero value is good for most. A field
// with a name is a setting: its help text says what it means.
type Options struct {
	Block   int              `name:"block" help:"how many <nodes> to lease in each namespace, a power of two (default: a 64th of them, at most 16)"`
	Within  string           `name:"within" help:"the <nodes> to lease from, as in datacenter=3, datacenter=env:ZONE or 30-63 (default: all; also in a layout without that part)"`
	Lead    int64            `name:"lead" help:"how many <ticks> IDs may run ahead of the clock in a burst"`
	Spread  map[string]int64 `name:"spread" help:"begin each tick of a namespace at a random one of N sequence numbers, as <NAMESPACE=N>, so that id % N is even where few IDs are made"`
	TTL     time.Duration    `name:"ttl" default:"15s" help:"how far ahead the server leases its nodes: how long IDs go on while the store is unreachable; the longest ttl of a namespace bounds it"`
	MaxWait time.Duration    `name:"max-wait" default:"1s" help:"how long a request waits for the clock or a lease"`
	Label   string           `name:"label" help:"<name> that people see as the holder of the server's nodes (default: host and process)"`
	HandOut bool             `name:"hand-out-secrets" help:"give the secrets of encrypted namespaces to those who may hold leases in them"`

	// URL is where other servers reach this one; "" means that they do not.
	URL string

	// PublicKey returns what [KeyOf] says of the certificate that the
	// service answers with; "" where it has none. Nil means the same.
	PublicKey func() string

	// Version is the program's, for the list of servers.
	Version string

	// Keys returns the secrets of an encrypted namespace, oldest first. Nil
	// means that there are none.
	Keys func(namespace string) ([]*snowfence.Secret, error)

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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Label = cmp.Or(o.Label, LabelOf("server"))
	return o
}

// LabelOf returns a label of this process.
func LabelOf(kind string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // only a label
	}
	return fmt.Sprintf("%s %s/%d", kind, host[:min(len(host), 80)], os.Getpid())
}
