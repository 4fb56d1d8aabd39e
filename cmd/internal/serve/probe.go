package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// ErrNotReady means that a server answers, and that it is not well.
var ErrNotReady = errors.New("not ready")

// Probe asks the server that runs on this machine with the same
// configuration by a path of its health, and returns why it is not well. It
// asks the admin address where there is one, otherwise HTTP's. Where only
// the Redis protocol is spoken, it asks whether the server lives.
func Probe(ctx context.Context, cfg Config, path string) error {
	scheme, address := "http", cfg.Admin
	if address == "" && cfg.HTTP != "" {
		address = cfg.HTTP
		if cfg.TLSCert != "" {
			scheme = "https"
		}
	}
	if address == "" {
		return probeRESP(ctx, &cfg)
	}
	if scheme == "https" && cfg.TLSClientCA != "" {
		return errors.New("the server wants certificates of its clients: give it an admin address on loopback; " +
			"the check then asks that address")
	}
	network, at := dialAddress(address)
	host := at
	if network == "unix" {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+path, nil)
	if err != nil {
		return err
	}
	// It asks itself, tells no secret, and believes nothing but "alive":
	// the certificate is for other names than this address.
	insecure := &tls.Config{InsecureSkipVerify: true}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: insecure, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, at)
		},
	}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // for people
		why := strings.TrimPrefix(strings.TrimSpace(string(text)), ErrNotReady.Error()+": ")
		return fmt.Errorf("%s answers %s: %w: %s", address, res.Status, ErrNotReady, why)
	}
	return nil
}

// probeRESP sends PING. A server that wants a token first is alive, too.
func probeRESP(ctx context.Context, cfg *Config) error {
	var dial interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if cfg.TLSCert != "" {
		dial = &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // as above
	}
	network, at := dialAddress(cfg.RESP)
	c, err := dial.DialContext(ctx, network, at)
	if err != nil {
		return fmt.Errorf("no server: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return fmt.Errorf("no server: %w", err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return errors.Join(fmt.Errorf("%s answers %.100q", cfg.RESP, line), err)
	}
	return nil
}

// dialAddress is where this machine reaches a listener.
func dialAddress(address string) (network, at string) {
	if path, ok := socketPath(address); ok {
		return "unix", path
	}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return "tcp", net.JoinHostPort("127.0.0.1", port)
	}
	return "tcp", address
}
