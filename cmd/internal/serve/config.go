// Package serve is the server process: listeners, who may use them, and a stop that loses nothing. What is served is in the packages of the wires.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
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

	Tokens        string // file of the tokens; "" means that everybody may do everything
	OpenToNetwork bool   // listen beyond this machine although there is no TLS, or are no tokens

	MaxConns int           // of the Redis protocol, and of HTTP
	Slow     time.Duration // how long a client may take to send a request or take an answer
	Idle     time.Duration // how long a client may be silent; 0 means for ever
	Stop     time.Duration // how long a stop may take

	Service server.Options
	Logger  *slog.Logger
	Version string
}

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
	for name, address := range map[string]string{"http": c.HTTP, "resp": c.RESP, "admin": c.Admin} {
		if address == "" {
			continue
		}
		local, err := loopback(address)
		switch {
		case err != nil:
			add("%s: %w", name, err)
		case local || c.OpenToNetwork:
		case name == "admin":
			add("admin %s can be reached from other machines, and asks nobody who they are: take a loopback address, or say open-to-network", address)
		case c.TLSCert == "":
			add("%s %s can be reached from other machines, without TLS: give it tls-cert and tls-key, take a loopback address, or say open-to-network", name, address)
		case c.Tokens == "" && c.TLSClientCA == "":
			add("%s %s can be reached from other machines, by anybody: give it tokens or tls-client-ca, take a loopback address, or say open-to-network", name, address)
		}
	}
	if c.MaxConns < 0 || c.Slow < 0 || c.Idle < 0 || c.Stop < 0 {
		add("max-connections, slow, idle and stop-timeout must not be negative")
	}
	return errors.Join(errs...)
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("address %q: write it as 127.0.0.1:8080: %w", address, err)
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}
