// Package serve is the server process: listeners, who may use them, and a stop that loses
// nothing. What is served is in the packages of the wires.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Config says what a server does. The program's flags, environment and file have the same names.
type Config struct {
	HTTP  string // address of HTTP, gRPC and the dashboard; "" means none
	RESP  string // address of the Redis protocol; "" means none
	Admin string // address of metrics and profiles; "" means none

	TLSCert     string // file of the certificate chain; "" means no TLS
	TLSKey      string // file of its key
	TLSClientCA string // file of the authorities whose client certificates are wanted; "" means none are

	Tokens    string         // file of the tokens, read again when it changes; "" means none
	TokenList []server.Token // tokens beside those of the file; without any, everybody may do everything

	// OpenToNetwork names the listeners ("http", "resp", "admin", or "all") that other
	// machines may reach although they have no TLS, or let everybody in.
	OpenToNetwork []string

	MaxConns int // of the Redis protocol, and as many of HTTP; 0 means 20,000
	// how long a client may take to send a request, to take an answer, or to say who it
	// is over the Redis protocol; 0 means 10 s
	Slow  time.Duration
	Idle  time.Duration // how long a client of the Redis protocol may be silent; 0 means for ever
	Drain time.Duration // how long the server is not ready, but still serves, before it stops
	Stop  time.Duration // how long a stop may take, without Drain; 0 means 10 s

	// ReadyFor names the namespaces that the server leases nodes in at the start, and is
	// not ready without. None means "default", where it exists.
	ReadyFor []string

	Service server.Options
	Logger  *slog.Logger
	Version string

	Notify   *Notifier // told when the server is ready and stops; nil means nobody is
	Tracing  bool      // send traces to where the variables OTEL_EXPORTER_OTLP_… say
	Hide     func(text string) string
	pollWait time.Duration // between looks at files, the clock and the store; 0 means a second
}

// listenerNames are what OpenToNetwork may have.
var listenerNames = []string{"http", "resp", "admin", "all"}

// Check returns what is wrong with the configuration, without listening or reading files.
func (c *Config) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.HTTP == "" && c.RESP == "" {
		add("nothing to serve: give an address to http, or to resp")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		add("tls-cert and tls-key go together")
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		add("tls-client-ca needs tls-cert and tls-key")
	}
	for _, name := range c.OpenToNetwork {
		if !slices.Contains(listenerNames, name) {
			add("open-to-network %q: name listeners: %s", name, strings.Join(listenerNames, ", "))
		}
	}
	for _, l := range c.listeners() {
		if l.address == "" {
			continue
		}
		local, err := loopback(l.address)
		if err == nil && !local {
			err = c.mayReach(l.name, l.address)
		}
		if err != nil {
			add("%s: %w", l.name, err)
		}
	}
	if c.MaxConns < 0 || c.Slow < 0 || c.Idle < 0 || c.Drain < 0 || c.Stop < 0 {
		add("max-connections, slow, idle, drain and stop-timeout must not be negative")
	}
	return errors.Join(errs...)
}

type listener struct{ name, address string }

func (c *Config) listeners() []listener {
	return []listener{{"http", c.HTTP}, {"resp", c.RESP}, {"admin", c.Admin}}
}

// mayReach returns why a listener must not be reached by other machines.
func (c *Config) mayReach(name, address string) error {
	known := c.asks()
	switch {
	case slices.Contains(c.OpenToNetwork, name), slices.Contains(c.OpenToNetwork, "all"):
		return nil
	case name == "admin":
		return fmt.Errorf("other machines reach %s, where metrics and profiles are open to everybody: take a "+
			"loopback address, or say --open-to-network=admin", address)
	case c.TLSCert == "" && !known:
		return fmt.Errorf("other machines reach %s, without TLS, and everybody may do everything: give it "+
			"tls-cert, tls-key and tokens, take a loopback address, or say --open-to-network=%s", address, name)
	case c.TLSCert == "":
		return fmt.Errorf("other machines reach %s without TLS, so that tokens can be read on the way: give it "+
			"tls-cert and tls-key, take a loopback address, or say --open-to-network=%s", address, name)
	case !known:
		return fmt.Errorf("other machines reach %s, and everybody may do everything: give it tokens or "+
			"tls-client-ca, take a loopback address, or say --open-to-network=%s", address, name)
	}
	return nil
}

// asks reports whether clients have to say who they are.
func (c *Config) asks() bool { return c.Tokens != "" || len(c.TokenList) > 0 || c.TLSClientCA != "" }

// normal returns the configuration with its defaults.
func (c Config) normal() Config {
	c.MaxConns = cmp.Or(c.MaxConns, 20_000)
	c.Slow = cmp.Or(c.Slow, 10*time.Second)
	c.Stop = cmp.Or(c.Stop, 10*time.Second)
	c.pollWait = cmp.Or(c.pollWait, time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// loopback reports whether only this machine reaches an address. What a name stands for
// is seen when it is listened on.
func loopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("address %q: write it as 127.0.0.1:8080: %w", address, err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, fmt.Errorf("address %q: %q is no port: write a number from 0 to 65535", address, port)
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}
