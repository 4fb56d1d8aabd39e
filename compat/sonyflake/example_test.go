package sonyflake_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// The metadata service of EC2 answers only callers with a token. This is
// version 2 of its protocol, which the awsutil of the original does not
// speak.
func ExampleSettings_ec2() {
	service := metadata() // "http://169.254.169.254" on an instance
	defer service.Close()

	sf, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return instanceAddress(service.URL) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := sf.NextID()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("machine", sf.Decompose(id)["machine"])
	// Output: machine 263
}

// instanceAddress returns the lowest 16 bits of the private address of an
// EC2 instance.
func instanceAddress(service string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	token, err := ask(ctx, http.MethodPut, service+"/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60")
	if err != nil {
		return 0, err
	}
	text, err := ask(ctx, http.MethodGet, service+"/latest/meta-data/local-ipv4", "X-aws-ec2-metadata-token", token)
	if err != nil {
		return 0, err
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.Is4() {
		return 0, fmt.Errorf("the instance's address is %q", text)
	}
	b := ip.As4()
	return int(binary.BigEndian.Uint16(b[2:])), nil
}

func ask(ctx context.Context, method, url, header, value string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set(header, value)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(url + ": " + res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	return string(body), err
}

// metadata is a service as on an instance with the address 10.20.1.7.
func metadata() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") == "" {
			http.Error(w, "no lifetime", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "secret")
	})
	mux.HandleFunc("GET /latest/meta-data/local-ipv4", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-aws-ec2-metadata-token") != "secret" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "10.20.1.7")
	})
	return httptest.NewServer(mux)
}

// The machine ID is leased: no other process has it, whatever its address
// is.
func ExampleNewOn() {
	ctx := context.Background()
	store := store.NewMemory() // over your database in a program: sqlstore.New, etcdstore.New, …
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("sonyflake-v2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := lease.Open(ctx, store, "default", scheme, &lease.Options{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	sf, err := sonyflake.NewOn(l)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sf.Close()
	id, err := sf.NextID()
	gr, _ := l.Held(0)
	fmt.Println(sf.Decompose(id)["machine"] == gr.Node, err)
	// Output: true <nil>
}
