package kubestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// client speaks to the API server. It sends each request once: a repeated
// write could not tell its own first attempt from another program's.
type client struct {
	http    *http.Client
	leases  string // URL of the collection
	token   func() (string, error)
	timeout time.Duration
}

// longestAnswer bounds an answer's bytes: a page of 500 objects with the
// longest texts.
const longestAnswer = 64 << 20

func newClient(c *Config, timeout time.Duration) (*client, error) {
	t, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.Server)
	if err != nil || base.Host == "" || base.Scheme != "https" {
		return nil, errors.New("kubestore: Config.Server is no https URL")
	}
	return &client{
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig:     t,
				ForceAttemptHTTP2:   true,
				MaxIdleConnsPerHost: parallel,
				TLSHandshakeTimeout: timeout,
				// An API server that vanished is noticed before a lease
				// ends.
				HTTP2: &http.HTTP2Config{SendPingTimeout: 3 * time.Second, PingTimeout: 2 * time.Second},
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		leases:  base.JoinPath("/apis/coordination.k8s.io/v1/namespaces", c.Namespace, "leases").String(),
		token:   c.Token,
		timeout: timeout,
	}, nil
}

// status is the API server's answer in place of an object.
type status struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Details struct {
		Name string `json:"name"`
	} `json:"details"`
	code int
}

func (s *status) Error() string {
	text := fmt.Sprintf("kubestore: the API server answered %d %s: %s", s.code, s.Reason, s.Message)
	switch s.code {
	case http.StatusUnauthorized:
		text += "; it does not accept the token or certificate: get a new one"
	case http.StatusForbidden:
		text += "; the account needs get, list, create and update on leases of this namespace: kubectl create role " +
			"snowfence --verb=get,list,create,update --resource=leases.coordination.k8s.io, and a rolebinding"
	case http.StatusTooManyRequests:
		text += "; it is busy, and did nothing: leases try again by themselves"
	}
	return text
}

// missing reports whether the API server says that a Lease is not there.
// Another 404 can be of a proxy, and says nothing about it.
func (s *status) missing(name string) bool {
	return s.Reason == "NotFound" && s.Details.Name == name
}

// getObject returns an object by its name, or nil.
func (c *client) getObject(ctx context.Context, name string) (*object, time.Time, error) {
	var o object
	now, err := c.sendRequest(ctx, http.MethodGet, "/"+name, nil, &o)
	if s := (*status)(nil); errors.As(err, &s) && s.missing(name) {
		return nil, now, nil
	}
	if err != nil {
		return nil, now, err
	}
	return &o, now, nil
}

// sendRequest sends a request and reads the answer. It returns the time of
// the server, with a resolution of a second. A *status means that the
// server answered; after a write, any other error leaves open whether it
// was done.
func (c *client) sendRequest(ctx context.Context, method, path string, body, answer any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return time.Time{}, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.leases+path, content)
	if err != nil {
		return time.Time{}, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "snowfence")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != nil {
		token, err := c.token()
		if err != nil {
			return time.Time{}, fmt.Errorf("kubestore: reading the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return time.Time{}, &store.Failure{Err: err, Text: "kubestore: " + err.Error(), Public: "kubestore: no answer"}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err != nil {
		return time.Time{}, fmt.Errorf("kubestore: reading the answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		s := &status{code: resp.StatusCode}
		if json.Unmarshal(text, s) != nil || s.Message == "" {
			s.Message = strings.ToValidUTF8(string(text[:min(len(text), 200)]), "")
		}
		return time.Time{}, &store.Failure{
			Err: s, Text: s.Error(), Public: fmt.Sprintf("kubestore: the API server answered %d", s.code),
		}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return time.Time{}, fmt.Errorf("kubestore: the answer is no JSON: %w", err)
	}
	now, _ := http.ParseTime(resp.Header.Get("Date"))
	return now, nil
}

// is reports whether the API server answered with a code.
func is(err error, code int) bool {
	var s *status
	return errors.As(err, &s) && s.code == code
}

// putObject writes an object: a new one, or one with the UID and version of
// its read. Without the UID, the API server would make a deleted Lease
// again. A conflict is a *status of 409.
func (c *client) putObject(ctx context.Context, o object) (written object, err error) {
	if o.Metadata.UID == "" {
		_, err = c.sendRequest(ctx, http.MethodPost, "", o, &written)
	} else {
		_, err = c.sendRequest(ctx, http.MethodPut, "/"+o.Metadata.Name, o, &written)
	}
	return written, err
}

// listObjects returns the objects with a label, which it reads in pages.
func (c *client) listObjects(ctx context.Context, selector string) (items []object, err error) {
	query := url.Values{"labelSelector": {selector}, "limit": {"500"}}
	for {
		var page struct {
			Metadata struct{ Continue string }
			Items    []object
		}
		if _, err := c.sendRequest(ctx, http.MethodGet, "?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Metadata.Continue == "" {
			return items, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}
