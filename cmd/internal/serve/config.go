// Package serve is the server process: listeners, their users, and a stop
// that loses nothing. The wires are packages of their own.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

// Config has the settings of a server, in groups as in its documentation. A
// field with a name is a flag, an environment variable and a line of the
// file; "file" alone is a line of the file only, and file "-" is none. Help
// texts name their value between < and >.
type Config struct {
	Listeners
	Access
	Limits
	Stopping
	server.Options
	Starting

	ReadyFor []string `name:"ready-for" help:"<namespaces> to lease nodes in at the start; without them the server is not ready (default: default, if it exists)"`

	Agent bool                     // it serves the users of this host
	Quota int                      // how many nodes each of these may hold
	Hide  func(text string) string // takes passwords out of errors

	pollWait time.Duration // between looks at files, the clock and the store; 0 means a second
}

// Listeners are the addresses of a server.
type Listeners struct {
	HTTP      string `name:"http" default:"127.0.0.1:8080" help:"<address> of HTTP and gRPC, as in 127.0.0.1:8080 or unix:/PATH; empty for none"`
	RESP      string `name:"resp" default:"127.0.0.1:6380" help:"<address> of the Redis protocol; empty for none"`
	Admin     string `name:"admin" help:"<address> of metrics and health, open to everybody who reaches it (default: none)"`
	Advertise string `name:"advertise" help:"<address> where the other servers over the store reach this one, to pass renewals of its subleases on, as in 10.0.0.7:8080 (default: none, so holders that reach another server take another node)"`
	Pprof     bool   `name:"pprof" help:"profiles of the program below /debug/pprof/ of the admin address, with parts of its memory"`
}

// Access names the callers and their rights.
type Access struct {
	TLSCert       string         `name:"tls-cert" help:"<file> of the certificate chain in PEM form, read again when it changes"`
	TLSKey        string         `name:"tls-key" help:"<file> of the key of tls-cert"`
	TLSClientCA   string         `name:"tls-client-ca" help:"<file> of the authorities of client certificates, which clients then need"`
	Tokens        string         `name:"tokens" help:"<file> of the tokens that clients need, read again when it changes (see \"snowfence token\")"`
	TokenList     []server.Token `file:"tokens" help:"tokens in place of a path, read again on SIGHUP. Each has name and sha256 or certificate, and may have namespaces, verbs, rate, burst, nodes and until"`
	Rate          int            `name:"rate-without-tokens" help:"<IDs> and other requests a second that all clients together may ask for where none needs a token; 0 is no limit"`
	OpenToNetwork []string       `name:"open-to-network" bare:"all" help:"<listeners> (http, resp, admin or all) that other machines may reach without TLS or without tokens"`
}

// Limits are those of clients.
type Limits struct {
	MaxConns int           `name:"max-connections" default:"20000" help:"most connections at a time, of HTTP and of the Redis protocol each"`
	Slow     time.Duration `name:"slow" default:"10s" help:"how long a client may take to send a request, to take an answer, or to authenticate (Redis protocol)"`
}

// Stopping says how a server stops.
type Stopping struct {
	Drain time.Duration `name:"drain" help:"how long to be not ready, but still serve, before a stop, so that load balancers notice"`
	Stop  time.Duration `name:"stop-timeout" default:"10s" help:"how long the stop may take, after drain"`
}

// Starting has the steps before a server, or in its place.
type Starting struct {
	File        string              `name:"config" file:"-" help:"<file> of settings, in YAML"`
	Store       string              `name:"store" help:"<URL> of the store: sqlite:PATH, postgres:, mysql:, redis:, etcd:, kubernetes:, dynamodb:, s3: or mem: (see snowfence help stores; default: a file of this machine or of this user)"`
	TokenFile   string              `name:"token-file" help:"<file> of the token for servers in place of a store, with the verbs read and lease; read again when it changes"`
	TLSCA       string              `name:"tls-ca" help:"<file> of the authorities of the certificates of servers in place of a store (default: the system's)"`
	SecretFiles map[string]string   `name:"secret" help:"secrets of encrypted namespaces, as <NAMESPACE=FILE>; with rotated secrets FILE1:FILE2, oldest first"`
	Secrets     map[string][]string `file:"secrets" help:"the secrets of encrypted namespaces, by namespace. With rotated secrets it is a list, the oldest first"`
	LogJSON     bool                `name:"log-json" help:"log JSON"`
	LogDebug    bool                `name:"log-debug" help:"log more"`
	CheckConfig bool                `name:"check-config" file:"-" help:"check settings, files, certificates and tokens, then end, without listening or asking the store"`
	CheckHealth bool                `name:"check-health" file:"-" help:"ask the server that runs here with these settings whether it is alive, then end: for containers"`
}

// AgentNamespace returns the only namespace of an agent.
func (c *Config) AgentNamespace() string {
	return cmp.Or(strings.Join(c.ReadyFor, ""), lease.DefaultNamespace)
}

// Settings returns the tags of each setting, and where its value goes.
func (c *Config) Settings() iter.Seq2[reflect.StructTag, any] {
	return func(yield func(reflect.StructTag, any) bool) { eachSetting(reflect.ValueOf(c).Elem(), yield) }
}

// eachSetting calls yield with the settings of a group and of the groups in
// it, until it returns false.
func eachSetting(group reflect.Value, yield func(reflect.StructTag, any) bool) bool {
	for f, v := range group.Fields() {
		if f.Anonymous && !eachSetting(v, yield) || f.Tag != "" && !yield(f.Tag, v.Addr().Interface()) {
			return false
		}
	}
	return true
}

// listenerNames are the values that OpenToNetwork may have.
var listenerNames = []string{"http", "resp", "admin", "all"}

// Check returns the mistakes of the configuration, without listening or
// reading files.
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
	if _, err := c.advertised(); err != nil {
		errs = append(errs, err)
	}
	if c.Advertise != "" && c.TLSClientCA != "" {
		add("advertise does not go with tls-client-ca: servers have no certificates for each other. Leave advertise " +
			"out")
	}
	if c.Rate < 0 {
		add("rate-without-tokens must not be negative")
	}
	if c.Rate > 0 && (c.Tokens != "" || len(c.TokenList) > 0) {
		add("rate-without-tokens is for servers without tokens: give each token a rate of its own")
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
		local, err := isLoopback(l.address)
		if err == nil && !local {
			err = c.checkExposed(l.name, l.address)
		}
		if err != nil {
			add("%s: %w", l.name, err)
		}
	}
	if c.MaxConns < 0 || c.Slow < 0 || c.Drain < 0 || c.Stop < 0 {
		add("max-connections, slow, drain and stop-timeout must not be negative")
	}
	return errors.Join(errs...)
}

// advertised returns the URL at which other servers reach this one; ""
// means that they do not.
func (c *Config) advertised() (string, error) {
	if c.Advertise == "" {
		return "", nil
	}
	at := strings.LastIndexByte(c.Advertise, ':')
	host, port := c.Advertise[:max(at, 0)], c.Advertise[at+1:]
	host = strings.Trim(host, "[]") // an address of IPv6 may have no brackets, as a pod's has none
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if c.TLSCert != "" {
		u.Scheme = "https"
	}
	read, err := url.Parse(u.String())
	if n, bad := strconv.ParseUint(port, 10, 16); bad != nil || n == 0 || err != nil || host == "" ||
		read.Hostname() != host || read.Port() != port {
		return "", fmt.Errorf("advertise %q: write it as host:port, as in 10.0.0.7:8080", c.Advertise)
	}
	return u.String(), nil
}

type listener struct{ name, address string }

func (c *Config) listeners() []listener {
	return []listener{{"http", c.HTTP}, {"resp", c.RESP}, {"admin", c.Admin}}
}

// checkExposed returns why a listener must not be reached by other
// machines.
func (c *Config) checkExposed(name, address string) error {
	known := c.authenticates()
	switch {
	case c.openTo(name):
		return nil
	case name == "admin":
		return fmt.Errorf("other machines reach %s, where metrics are open to everybody: take a "+
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

// openTo reports whether other machines may reach a listener that is not
// safe.
func (c *Config) openTo(name string) bool {
	return slices.Contains(c.OpenToNetwork, name) || slices.Contains(c.OpenToNetwork, "all")
}

// authenticates reports whether clients must identify themselves.
func (c *Config) authenticates() bool {
	return c.Tokens != "" || len(c.TokenList) > 0 || c.TLSClientCA != ""
}

// withDefaults returns the configuration with its defaults. An empty text
// stays: it means none.
func (c Config) withDefaults() Config {
	for tag, field := range c.Settings() {
		switch p := field.(type) {
		case *int:
			if *p == 0 {
				*p, _ = strconv.Atoi(tag.Get("default"))
			}
		case *time.Duration:
			if *p == 0 {
				*p, _ = time.ParseDuration(tag.Get("default"))
			}
		}
	}
	c.pollWait = cmp.Or(c.pollWait, time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}
